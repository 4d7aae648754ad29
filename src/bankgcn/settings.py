"""Settings as data: what a field of a configuration means to a user, and which values it may have.

A field made by :func:`setting` carries its help, its group and its range as metadata. The command line makes its
options from it, configuration files take its name, and :func:`check_settings` refuses values out of range. So a new
setting is one field. :func:`pick` looks a name up among those to choose from, with an error that helps.
"""

from __future__ import annotations

import difflib
import math
import typing
from collections.abc import Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar

from bankgcn.messages import Message, Option

T = TypeVar("T")

Plain = str | int | float | bool


def pick(options: Mapping[Any, T], name: str, noun: str) -> T:
    """The option of that name.

    Raises:
        ValueError: There is none; the message names the others, and the one that was probably meant.

    Example:
        >>> pick({"mean": 1, "max": 2}, "maxx", "readout")
        Traceback (most recent call last):
        ValueError: unknown readout 'maxx', expected one of mean, max; did you mean 'max'?
    """
    if isinstance(name, Hashable) and name in options:
        return options[name]
    by_lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    hint = f"; did you mean {by_lower[near[0]]!r}?" if near else ""
    raise ValueError(f"unknown {noun} {name!r}, expected one of {', '.join(options)}{hint}")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How users meet a value of a configuration.

    Args:
        default: The value if nothing is said.
        help: What it does, in a sentence.
        panel: The group of options in which ``--help`` lists it.
        name: Name on the command line and in files, with ``_``; the field's own by default.
        kind: Its type on the command line and in files; that of the field by default.
        choices: The values to choose from, if they are words.
        at_least: Smallest number allowed.
        above: All numbers allowed are larger than this.
        below: All numbers allowed are smaller than this.
        none: What stands for ``None`` on the command line and in files, if ``None`` is allowed.
        advanced: Whether few people change it: ``--help-all`` lists it, ``--help`` does not.

    Example:
        >>> Setting(default=30, help="", kind=int, at_least=1).check("patience", 0)
        Traceback (most recent call last):
        ValueError: patience=0: expected at least 1
    """

    default: Any
    help: str
    panel: str = ""
    name: str = ""
    kind: type = str
    choices: Collection[str] = ()
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    none: Plain | None = None
    advanced: bool = False

    def plain(self, value: Any) -> Plain:
        """The value as the command line and files write it."""
        return self.none if value is None and self.none is not None else value

    def parsed(self, value: Plain) -> Any:
        """The value that the command line or a file means."""
        return None if self.none is not None and value == self.none else value

    def normalised(self, value: Any) -> Any:
        """The value in the type of the setting: NumPy's numbers as Python's own, an integer for a real number as such.

        Equal settings are then the same in keys, records and files, wherever they come from.

        Example:
            >>> Setting(default=0.1, help="", kind=float).normalised(1)
            1.0
        """
        value = plain_value(value)
        if self.kind is float and type(value) is int:
            with suppress(OverflowError):  # an integer beyond all floats, which the check refuses
                return float(value)
        return value

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is of the right kind, finite and within its range."""
        if value is None and self.none is not None:
            return
        if self.choices:
            pick(dict.fromkeys(self.choices), value, self.name or name)
        if self.kind is bool and not isinstance(value, bool):  # "no" and None must not count as yes and no
            raise self._error(name, value, "true or false")
        if self.kind is str and isinstance(self.default, str | NoneType) and not isinstance(value, str):
            raise self._error(name, value, "a word")
        if self.kind is int and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise self._error(name, value, "a whole number")
        if self.kind is float and isinstance(value, bool):
            raise self._error(name, value, "a number")
        if self.kind in (int, float):
            self._check_number(name, value)

    def _check_number(self, name: str, value: Any) -> None:
        try:
            finite = math.isfinite(value)
        except (TypeError, OverflowError):  # not a number, or an integer beyond all floats
            finite = False
        if not finite:
            raise self._error(name, value, "a finite number")
        if not (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        ):
            bounds = {"at least": self.at_least, "more than": self.above, "less than": self.below}
            expected = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
            raise self._error(name, value, expected)

    def _error(self, name: str, value: Any, expected: str) -> ValueError:
        wrong = Option(self.name or name, value, field=name)
        return ValueError(Message("{wrong}: expected {expected}", wrong=wrong, expected=expected))


def setting(default: Any, help: str, **metadata: Any) -> Any:
    """A field of a frozen dataclass that users can set; see :class:`Setting`."""
    return field(default=default, metadata={"setting": Setting(default=default, help=help, **metadata)})


@cache
def settings_of(config: type) -> Mapping[str, Setting]:
    """The settings of a dataclass by the name of the field, each with its type and its name filled in."""
    hints = typing.get_type_hints(config)
    return {
        item.name: replace(row, name=row.name or item.name, kind=_plain_type(hints[item.name]))
        for item in fields(config)
        if (row := item.metadata.get("setting")) is not None
    }


def check_settings(config: Any) -> None:
    """Normalise the settings of a configuration, and raise a ``ValueError`` for the first that is out of range."""
    config_type: type = type(config)
    for name, row in settings_of(config_type).items():
        value = row.normalised(getattr(config, name))
        object.__setattr__(config, name, value)
        row.check(name, value)


def plain_value(value: Any) -> Any:
    """A number or an array of NumPy's as Python's own, which JSON can hold; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _plain_type(hint: Any) -> type:
    """The type of a field on the command line: ``int`` for ``int | None``, ``str`` for a choice of words."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not NoneType)
    return hint if hint in (int, float, bool) else str
