"""The version on the command line."""

from __future__ import annotations

from collections.abc import Callable

import bankgcn


def test_the_version_is_printed(command: Callable[..., tuple[int, str, str]]) -> None:
    assert command("--version") == (0, f"bankgcn {bankgcn.__version__}\n", "")
