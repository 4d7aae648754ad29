"""Settings as data: what a configuration's field means to a user, and which values it may have.

A field made by :func:`setting` carries its help, its group and its range as metadata. The command line makes its
options from it, configuration files take its name, and :func:`check_settings` refuses values out of range. So a new
setting is one field.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any

from bankgcn.choices import pick

Plain = str | int | float | bool


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How users meet a value of a configuration.

    Args:
        default: The value if nothing is said.
        help: What it does, in a sentence.
        panel: The group of options in which ``--help`` lists it.
        name: Name on the command line and in files, with ``_``; the field's own by default.
        choices: The values to choose from, if they are words.
        at_least: Smallest value.
        above: Value that it must exceed.
        below: Value that it must stay under.
        at_most: Largest value.
        none: What stands for ``None`` on the command line and in files.
        kind: Its type on the command line and in files; that of the field by default.
    """

    default: Any
    help: str
    panel: str = ""
    name: str = ""
    choices: Iterable[str] = ()
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    at_most: float | None = None
    none: Plain | None = None
    kind: type = str

    def plain(self, value: Any) -> Plain:
        """The value as the command line and files write it."""
        return self.none if value is None and self.none is not None else value

    def parsed(self, value: Plain) -> Any:
        """The value that the command line or a file means."""
        return None if self.none is not None and value == self.none else value

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is of the right kind, finite and within its range."""
        if value is None and self.none is not None:
            return
        if self.choices:
            pick(dict.fromkeys(self.choices), value, self.name or name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name}={value}: expected a finite number")
        bounds = (
            (self.at_least, lambda bound: value >= bound, "at least"),
            (self.above, lambda bound: value > bound, "more than"),
            (self.at_most, lambda bound: value <= bound, "at most"),
            (self.below, lambda bound: value < bound, "less than"),
        )
        for bound, holds, words in bounds:
            if bound is not None and not holds(bound):
                raise ValueError(f"{name}={value}: expected {words} {bound:g}")


def setting(default: Any, help: str, **metadata: Any) -> Any:
    """A field of a frozen dataclass that users can set; see :class:`Setting`."""
    return field(default=default, metadata={"setting": Setting(default=default, help=help, **metadata)})


def settings_of(config: type) -> dict[str, Setting]:
    """The settings of a dataclass by the name of the field, each with its type and its name filled in."""
    hints = typing.get_type_hints(config)
    found: dict[str, Setting] = {}
    for item in fields(config):
        row = item.metadata.get("setting")
        if row is not None:
            name, kind = row.name or item.name, _plain_type(hints[item.name])
            found[item.name] = Setting(**{**vars(row), "name": name, "kind": kind})
    return found


def check_settings(config: Any) -> None:
    """Raise a ``ValueError`` that names the first setting of a dataclass whose value is out of range."""
    for item in fields(config):
        row: Setting | None = item.metadata.get("setting")
        if row is not None:
            row.check(item.name, getattr(config, item.name))


def check_options(options: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
    """The same for options that are not fields of a dataclass."""
    for name, value in values.items():
        options[name].check(name, value)


def _plain_type(hint: Any) -> type:
    """The type of a field on the command line: ``int`` for ``int | None``, ``str`` for a choice of words."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not NoneType)
    return hint if hint in (int, float, bool) else str
