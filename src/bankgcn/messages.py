"""Messages as data: an option is named once, and Python, the command line and the service each spell it their way.

A :class:`Message` is a text in which options stand as values. As a string, it spells them as keywords of Python:
``skip_unreadable=True``. The command line renders the same message with its flags, an estimator with its parameters.
Advice on options that a front does not have is left out. So no layer has to rewrite the text of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option as a message names it.

    Args:
        name: Its name as a setting: of the flag, the key of a file, the parameter of an estimator.
        value: The value that it has or should have; without it, the option is named alone.
        field: Its name in Python, if that differs.
    """

    name: str
    value: Any = ...  # a constant of Python, which is the same in every process
    field: str = ""

    @property
    def alone(self) -> bool:
        """Whether the option is named without a value."""
        return self.value is ...


@dataclass(frozen=True)
class Spelling:
    """How one front of the program spells options.

    Args:
        word: From an option to the words for it.
        has: Whether the front has an option of this name; advice on others is left out.
    """

    word: Callable[[Option], str]
    has: Callable[[str], bool] = lambda name: True


def keyword(option: Option) -> str:
    """An option as a keyword of Python.

    Example:
        >>> keyword(Option("layers", 0, field="num_layers")), keyword(Option("target", "NAME"))
        ('num_layers=0', 'target="NAME"')
    """
    return parameter(Option(option.field or option.name, option.value))


def parameter(option: Option) -> str:
    """An option as a parameter of an estimator, which has the name of the setting."""
    if option.alone:
        return f"{option.name}="
    value = f'"{option.value}"' if isinstance(option.value, str) else str(option.value)
    return f"{option.name}={value}"


PYTHON = Spelling(keyword)
WITHOUT_ADVICE = Spelling(keyword, has=lambda name: False)


class Message(str):
    """A text that names options.

    Args:
        template: The text, with the names of values in braces. ``{advice}`` is where the advice stands, in
            parentheses; at the end by default.
        advice: Clauses that say which option helps.
        **values: What stands in the braces: options, other messages, or anything else.

    Example:
        >>> message = Message(
        ...     "2 of {total} molecules cannot be read{advice}: 'XX'",
        ...     advice=[advise("skip_unreadable", True, "leaves them out")],
        ...     total=7,
        ... )
        >>> print(message)
        2 of 7 molecules cannot be read (skip_unreadable=True leaves them out): 'XX'
        >>> print(message.spelled(Spelling(lambda option: f"--{option.name}")))
        2 of 7 molecules cannot be read (--skip_unreadable leaves them out): 'XX'
        >>> print(message.spelled(Spelling(keyword, has=lambda name: False)))
        2 of 7 molecules cannot be read: 'XX'
    """

    template: str
    advice: tuple[Message, ...]
    values: Mapping[str, Any]

    def __new__(cls, template: str, *, advice: Sequence[Message] = (), **values: Any) -> Message:
        """The message, spelled for Python."""
        template = template if "{advice}" in template else template + "{advice}"
        message = super().__new__(cls, _render(template, tuple(advice), values, PYTHON))
        message.template, message.advice, message.values = template, tuple(advice), values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """What makes the message again in another process."""
        return (self.template,), {**self.values, "advice": self.advice}

    def spelled(self, spelling: Spelling) -> str:
        """The text as a front spells it."""
        return _render(self.template, self.advice, self.values, spelling)

    @property
    def options(self) -> list[Option]:
        """The options that the text names, apart from its advice."""
        return [value for value in self.values.values() if isinstance(value, Option)]


def advise(name: str, value: Any, effect: str) -> Message:
    """A clause of advice: what an option does.

    Example:
        >>> print(advise("symmetrise", True, "adds them"))
        symmetrise=True adds them
    """
    return Message("{option} {effect}", option=Option(name, value), effect=effect)


def message_of(error: BaseException) -> str:
    """The message of an error: a :class:`Message` if it has one."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


def spelled(text: str, spelling: Spelling) -> str:
    """A text as a front spells it; a text that is no message stays as it is."""
    return text.spelled(spelling) if isinstance(text, Message) else text


def spelled_error(error: BaseException, spelling: Spelling) -> str:
    """The text of an error as a front spells it, with the place that the error names."""
    spell = getattr(error, "spelled", None)
    return spell(spelling) if spell is not None else spelled(message_of(error), spelling)


def _render(template: str, advice: tuple[Message, ...], values: Mapping[str, Any], spelling: Spelling) -> str:
    clauses = [
        clause.spelled(spelling) for clause in advice if all(spelling.has(option.name) for option in clause.options)
    ]
    spelled_values = {name: _spell(value, spelling) for name, value in values.items()}
    return template.format(**spelled_values, advice=f" ({', '.join(clauses)})" if clauses else "")


def _spell(value: Any, spelling: Spelling) -> Any:
    if isinstance(value, Option):
        return spelling.word(value)
    return value.spelled(spelling) if isinstance(value, Message) else value
