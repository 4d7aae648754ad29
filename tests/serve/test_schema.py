"""schemathesis makes requests from the OpenAPI document: none leads to an error of the service."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serve_runs import Service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = ["POST /predict", "GET /model", "GET /health", "GET /metrics"]


@pytest.mark.slow
def test_no_request_leads_to_an_error_of_the_service(service: Service) -> None:
    document = schemathesis.openapi.from_url(f"http://127.0.0.1:{service.port}/openapi.json")
    operations = [each.ok() for each in document.get_all_operations()]
    statuses: set[int] = set()
    assert [operation.label for operation in operations] == OPERATIONS
    modes = [(each, GenerationMode.POSITIVE) for each in operations]
    for operation, mode in [*modes, (operations[0], GenerationMode.NEGATIVE)]:

        @settings(max_examples=60 if operation.method == "post" else 5)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            statuses.add(case.call_and_validate(checks=CHECKS).status_code)

        ask()
    assert {200, 400, 422} <= statuses
