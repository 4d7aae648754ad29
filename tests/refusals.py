"""What an error says, by value: its settings, its advice, its file and line, and the other values that it names.

Wording is the subject of few tests. The others ask here for what a message is about, so that a sentence can be improved
without them, and a wrong setting, value, file or line still fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option, message_of, parameter


@contextmanager
def refused(
    kind: type[Exception],
    *values: object,
    at: str = "",
    advice: Mapping[str, object] | None = None,
    cause: type[Exception] | None = None,
    **settings: object,
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error that names the given.

    Args:
        kind: Its class.
        *values: What stands in its text, the file and the line apart, as a word or number of its own: ``3`` does not
            stand in ``30``.
        at: The file that it names, or the end of its path, and the line if it names one: ``own.csv:3``.
        advice: The settings that it advises and their values, all of them; not compared by default.
        cause: The class of the error that caused it.
        **settings: The settings that it names as those to blame, by their names in Python or on the command line, and
            their values; ``...`` for a setting without a value.
    """
    with pytest.raises(kind) as caught:
        yield caught
    check_names(caught.value, *values, at=at, **settings)
    if advice is not None:
        assert advised(caught.value) == dict(advice), str(caught.value)
    if cause is not None:
        assert isinstance(caught.value.__cause__, cause), repr(caught.value.__cause__)


def check_names(error: BaseException, *values: object, at: str = "", **settings: object) -> None:
    """Assert that an error names the given; see :func:`refused`."""
    text = error.message if isinstance(error, FileError) else str(error)  # a line is no other number
    for value in values:
        assert stands_in(value, text), f"{value} does not stand in: {error}"
    if at:
        assert isinstance(error, FileError), f"names no file: {error}"
        place = error.path if error.line is None else f"{error.path}:{error.line}"
        assert f"/{place}".endswith(f"/{at}"), f"{place} is not {at}: {error}"
    for name, value in settings.items():
        wanted = parameter(Option(name, value))
        named = [option for option in options_of(error) if name in (option.field or option.name, option.name)]
        found = {parameter(Option(name, option.value)) for option in named}
        assert wanted in found or (not named and stands_in(wanted, text)), f"{wanted} is not named in: {error}"


def stands_in(value: object, text: str) -> bool:
    """Whether a text holds a value, and not only as a part of a longer word or number.

    Example:
        >>> stands_in(3, "node 3 has"), stands_in(3, "30"), stands_in(3, "-3"), stands_in(3, "3.5")
        (True, False, False, False)
    """
    longer_before, longer_after = r"(?<![\w-])(?<!\d[.,])", r"(?!\w)(?![.,]\d)"
    return re.search(longer_before + re.escape(str(value)) + longer_after, text) is not None


def options_of(error: BaseException) -> list[Option]:
    """The options that an error names as data, apart from its advice."""
    return [option for message in _messages(message_of(error)) for option in message.options]


def advised(error: BaseException) -> dict[str, Any]:
    """The options that an error advises, and their values."""
    clauses = [clause for message in _messages(message_of(error)) for clause in message.advice]
    return {option.name: option.value for clause in clauses for option in clause.options}


def _messages(value: object) -> Iterator[Message]:
    """A message and those that stand in it."""
    if isinstance(value, Message):
        yield value
        for part in value.values.values():
            yield from _messages(part)
