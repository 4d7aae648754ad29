"""Turn the targets that a file gives for each graph into arrays: classes, or one or several numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.messages import Message, Option, advise
from bankgcn.settings import pick

if TYPE_CHECKING:
    from torch import Tensor

Scalar = int | float | str | bool | None
Target = Scalar | Sequence[Scalar] | Mapping[str, Scalar]
TASK_NAMES = ("classes", "values", "labels")

MISSING_WORDS = frozenset({"", "na", "n/a", "<na>", "#n/a", "#na", "null"})  # in upper or lower case
PYTHON_NONE = "None"  # so written alone: none is a word, such as the lowest grade of a scale
MOST_BITS = 10_000  # of an integer: of more than 4,300 digits, Python makes no text
MANY_CLASSES = 20  # more distinct whole numbers than this may be values that happen to be whole
_PADDED = re.compile(r"[+-]?0\d+")  # such as 007: a name as a class, the number 7 as a value
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_ABBREVIATIONS = (
    "n.d.",
    "n.d",
    "nd",
    "n/d",
    "n.a.",
    "n.a",
    "n.t.",
    "nt",
    "unk",
    "tbd",
    "-",
    "--",
    "---",
    "?",
    "??",
    ".",
)
_PHRASES = (
    "unknown",
    "missing",
    "untested",
    "undetermined",
    "not determined",
    "not tested",
    "not available",
    "no data",
)
_UNKNOWN_WORDS = frozenset({*_ABBREVIATIONS, *_PHRASES, "not measured", "\N{EN DASH}", "\N{EM DASH}"})
"""Words that often stand for a missing value, but may be classes."""
_LARGEST = float(np.finfo(np.float32).max)
_MAKE_CLASSES = advise("task", "classes", "makes a class of every value")


class Targets(NamedTuple):
    """Targets of graphs, as :meth:`GraphSet.from_edges` takes them: ``from_edges(..., **targets._asdict())``."""

    y: NDArray | None = None  # (G,) int64 classes, or (G,) or (G, T) float32 numbers
    classes: tuple[str, ...] | None = None
    targets: tuple[str, ...] = ()  # names of the columns of numbers


class TargetWords(NamedTuple):
    """How words of targets are read.

    Args:
        missing: Words that stand for a missing target, in lower case, with single blanks.
        ignore_case: Whether words that differ only in case or blanks are the same: all become lower case.

    Example:
        >>> words = TargetWords.of("n.d., -1", ignore_case=True)
        >>> [words(target) for target in ("Yes", "N.D.", 0.5, -1)]
        ['yes', None, 0.5, None]
    """

    missing: frozenset[str] = frozenset()
    ignore_case: bool = False

    @classmethod
    def of(cls, missing_words: str | None, ignore_case: bool = False) -> TargetWords:
        """The same from words that are separated by commas."""
        words = map(folded, (missing_words or "").split(","))
        return cls(frozenset(word for word in words if word), ignore_case)

    def __call__(self, target: Any) -> Any:
        """A target, or each of several, as it is meant."""
        if isinstance(target, Mapping):
            return {name: self(each) for name, each in target.items()}
        if isinstance(target, list | tuple):
            return [self(each) for each in target]
        if target is None or folded(name_of_class(target)) in self.missing:
            return None
        return folded(target) if self.ignore_case and isinstance(target, str) else target


class TargetError(GraphError):
    """Targets that do not fit the task.

    Args:
        message: What is wrong.
        graph: Number of the graph with the wrong target; ``None`` if no single graph is wrong.
    """

    def __init__(self, message: str, graph: int | None = None):
        super().__init__(message)
        self.graph = graph


def scalar(text: str) -> int | float | str | None:
    """The value of a cell of a table: a whole number, a real number, a word, or nothing.

    Digits after a leading zero are a word: codes such as ``007`` and ``7`` are different classes.

    Example:
        >>> [scalar(text) for text in ("1", "1.5", "active", " NA ", "007")]
        [1, 1.5, 'active', None, '007']
    """
    text = text.strip()
    if text == PYTHON_NONE or text.lower() in MISSING_WORDS:
        return None
    if "_" in text or _PADDED.fullmatch(text):  # Python reads 1_0 as 10, but in a table it is a word
        return text
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return None if number != number else number
    return text


def folded(word: str) -> str:
    """A word in lower case, with single blanks inside.

    Example:
        >>> folded(" Very  High")
        'very high'
    """
    return " ".join(word.lower().split())


def class_name_notes(classes: Sequence[str]) -> tuple[str, ...]:
    """Notes on classes that may be meant as one, or as missing values, with the options that read them so.

    Example:
        >>> for note in class_name_notes(["Yes", "n.d.", "no", "yes"]):
        ...     print(note)
        the classes 'Yes' and 'yes' differ only in case or blanks, but are learned as different ones: \
ignore_case=True makes them one
        the class 'n.d.' looks like a missing value, but is learned as a class: missing_words="n.d." and \
skip_missing=True leave its graphs out
    """
    spellings: dict[str, list[str]] = {}
    for name in classes:
        spellings.setdefault(folded(name), []).append(name)
    alike = (
        "the classes {names} differ only in case or blanks, but are learned as different ones: {option} makes them one"
    )
    notes: list[str] = [
        Message(alike, names=" and ".join(map(repr, names)), option=Option("ignore_case", True))
        for names in spellings.values()
        if len(names) > 1
    ]
    unknown = [names[0] for word, names in spellings.items() if word in _UNKNOWN_WORDS]
    if unknown:
        words, one = ",".join(unknown), len(unknown) == 1
        looks = (
            f"the class{'' if one else 'es'} {', '.join(map(repr, unknown))} look{'s' if one else ''} like a missing "
            f"value, but {'is' if one else 'are'} learned as a class"
        )
        leave = "{looks}: {words} and {skip} leave {whose} graphs out"
        options: dict[str, Any] = {"words": Option("missing_words", words), "skip": Option("skip_missing", True)}
        notes.append(Message(leave, looks=looks, whose="its" if one else "their", **options))
    return tuple(notes)


def with_decimal_points(texts: Sequence[str]) -> list[str] | None:
    """Numbers with points for decimal commas; ``None`` if there is no such comma, or a text is something else.

    Numbers with points do not go together with decimal commas: then either may separate thousands.

    Example:
        >>> with_decimal_points(["844,4", "12", "NA"]), with_decimal_points(["1.234", "1,5"])
        (['844.4', '12', 'NA'], None)
    """
    known = [text.strip() for text in texts if scalar(text) is not None]
    commas = [text for text in known if _DECIMAL_COMMA.fullmatch(text)]
    if not commas or any(not _DECIMAL_COMMA.fullmatch(text) and not _WHOLE.fullmatch(text) for text in known):
        return None
    return [text.replace(",", ".") for text in texts]


def is_unknown(target: Target) -> bool:
    """Whether no target is known: there is none, or none of several is known."""
    if isinstance(target, Mapping):
        return all(map(is_unknown, target.values()))
    if isinstance(target, list | tuple):
        return all(map(is_unknown, target))
    return target is None or target != target


def encode_targets(
    values: Iterable[Target | NDArray | Tensor], task: str | None = None, classes: Sequence[str] | None = None
) -> Targets:
    """Targets of graphs as arrays.

    Args:
        values: One for each graph: a word, a number, a list of numbers, or numbers by name. One target must be known;
            of several, ``None`` and NaN are unknown. Numbers and lists may be those of NumPy or PyTorch.
        task: ``"classes"``: every distinct value is a class, numbers in their order before words in theirs.
            ``"values"``: real numbers. ``"labels"``: 0 and 1. ``None``: several targets per graph are numbers; single
            targets are numbers if all are numbers and some are not whole, else classes. Words among numbers that are
            not whole, and numbers with a decimal comma, are an error.
        classes: Names of the classes in order of their numbers, if a model fixes them.

    Raises:
        TargetError: A target does not fit the task, or the task cannot be guessed: many different whole numbers may be
            classes or values, and a word among real numbers may be a mistake.

    Example:
        >>> encode_targets(["no", "yes", "no"])
        Targets(y=array([0, 1, 0]), classes=('no', 'yes'), targets=())
        >>> encode_targets([0.5, 2]).y
        array([0.5, 2. ], dtype=float32)
        >>> encode_targets([{"toxic": 1, "soluble": None}, {"toxic": 0, "soluble": 1}])[::2]
        (array([[ 1., nan],
               [ 0.,  1.]], dtype=float32), ('toxic', 'soluble'))
    """
    if task is not None:
        pick(dict.fromkeys(TASK_NAMES), task, "task")
    plain: list[Target] = [_plain(value) for value in values]
    first = next((value for value in plain if isinstance(value, list | tuple | Mapping)), None)
    if first is None:
        return _encode_column(plain, None, task, classes)
    names = tuple(first) if isinstance(first, Mapping) else ()
    rows = [_row(value, first, graph) for graph, value in enumerate(plain)]
    if len(names) == 1:
        return _encode_column([row[0] for row in rows], names[0], task, classes)
    if task == "classes" or classes is not None:
        several = "there are {count} targets for each graph, but {task} learns a single one"
        raise TargetError(Message(several, count=len(first), task=Option("task", "classes")))
    return Targets(_numbers(rows, names or range(len(first)), task), targets=names)


def target_names(y: NDArray, names: tuple[str, ...], expected: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Names of the columns of numbers; without names, those that are expected if they are as many."""
    width = _matrix(y).shape[1]
    if width == len(expected) == 1:
        return expected  # a single target needs no name to be told from others
    return names or (expected if len(expected) == width else tuple(f"y{column}" for column in range(width)))


def match_targets(y: NDArray, names: tuple[str, ...], expected: tuple[str, ...]) -> NDArray:
    """The columns of numbers with the expected names, in that order, shape ``(G, len(expected))``.

    Raises:
        GraphError: There is no column of an expected name.
    """
    return _matrix(y)[:, find_targets(target_names(y, names, expected), expected)]


def find_targets(names: Sequence[str], expected: Sequence[str]) -> list[int]:
    """The places of the expected names; a single target needs no name to be told from others.

    Raises:
        GraphError: There is no column of an expected name.
    """
    if len(names) == len(expected) == 1:
        return [0]
    missing = [name for name in expected if name not in names]
    if missing:
        raise GraphError(f"these graphs have no target {', '.join(missing)}; their targets are {', '.join(names)}")
    return [names.index(name) for name in expected]


def _plain(value: Any) -> Any:
    """A target with Python's numbers and lists for those of NumPy and PyTorch."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _encode_column(values: Sequence[Any], name: str | None, task: str | None, classes: Sequence[str] | None) -> Targets:
    """One target for each graph, all of them known."""
    for graph, value in enumerate(values):
        if is_unknown(value):
            raise TargetError(f"{_column(name)}there is no target", graph)
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            shown = shown_number(value)
            raise TargetError(f"{_column(name)}the target is {shown}: expected a shorter one, or a word", graph)
    if task is None and classes is None:
        task = _guess_task(values, name)
    if task in ("values", "labels"):
        return Targets(_numbers([(value,) for value in values], (name,), task)[:, 0], targets=(name,) if name else ())
    names = [name_of_class(value) for value in values]
    known = tuple(sorted(set(names), key=_by_number_then_word) if classes is None else classes)
    place = {word: number for number, word in enumerate(known)}
    for graph, word in enumerate(names):
        if word not in place:
            raise TargetError(f"{_column(name)}class {word!r} is none of {', '.join(known)}", graph)
    return Targets(np.array([place[word] for word in names], dtype=np.int64), known)


def _row(value: Target, first: Sequence[Scalar] | Mapping[str, Scalar], graph: int) -> tuple[Scalar, ...]:
    """The targets of one graph, in the order of the first graph that has several."""
    if isinstance(first, Mapping):
        if isinstance(value, Mapping) and value.keys() == first.keys():
            return tuple(value[name] for name in first)
        raise TargetError(f"target {value!r}: expected {', '.join(map(repr, first))}, as in other graphs", graph)
    if isinstance(value, list | tuple) and len(value) == len(first):
        return tuple(value)
    raise TargetError(f"target {value!r}: expected a list of {len(first)} numbers, as in other graphs", graph)


def _numbers(
    rows: Sequence[Sequence[Scalar]], names: Iterable[str | int | None], task: str | None
) -> NDArray[np.float32]:
    """The numbers, shape ``(rows, columns)``; NaN where they are unknown."""
    names = list(names)
    numbers = [[_number(c, n, graph) for c, n in zip(row, names, strict=True)] for graph, row in enumerate(rows)]
    y = np.array(numbers, np.float32).reshape(len(rows), len(names))
    if task == "labels":
        for graph, column in np.argwhere(~(np.isnan(y) | (y == 0) | (y == 1)))[:1]:
            shown = rows[graph][column]
            raise TargetError(f"{_column(names[column])}label {shown!r} is neither 0 nor 1", int(graph))
    return y


def _number(value: Scalar, name: str | int | None, graph: int) -> float:
    if value is None or value != value:
        return math.nan
    value = _unpadded(value)
    if isinstance(value, str):
        raise TargetError(f"{_column(name)}target {value!r} is not a number", graph)
    if not abs(value) <= _LARGEST:
        raise TargetError(
            f"{_column(name)}target {shown_number(value)} is not a finite number of single precision", graph
        )
    return float(value)


def _guess_task(values: Sequence[Any], name: str | None) -> str:
    """Numbers that are not all whole are values; whole numbers and words are classes."""
    values = [_unpadded(value) for value in values]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    real = next((number for number in numbers if not _is_whole(number)), None)
    if len(numbers) == len(values):
        return _task_of_integers(numbers, name) if real is None else "values"
    for graph, value in enumerate(values):
        if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value):
            comma = f"{_column(name)}target {value!r} has a decimal comma: write {value.replace(',', '.')}"
            raise TargetError(Message("{comma}", comma=comma, advice=[_MAKE_CLASSES]), graph)
        if isinstance(value, str) and real is not None:
            word = f"{_column(name)}target {value!r} is not a number, but others are, such as {real}"
            advice = [advise("missing_words", "WORD", "reads WORD as missing"), _MAKE_CLASSES]
            raise TargetError(Message("{word}: leave it empty if it is missing", word=word, advice=advice), graph)
    return "classes"


def _unpadded(value: Any) -> Any:
    """The number that digits after a leading zero stand for; anything else as it is."""
    return int(value) if isinstance(value, str) and _PADDED.fullmatch(value) else value


def _is_whole(value: int | float) -> bool:
    return isinstance(value, int) or value.is_integer()  # infinity is not


def _task_of_integers(values: Sequence[int | float], name: str | None) -> str:
    """Whole numbers are classes, unless there are so many distinct ones that they may be values."""
    distinct = len(set(values))
    if distinct > MANY_CLASSES and distinct > len(values) / 10:
        found = f"{_column(name)}the targets of {len(values):,} graphs are {distinct:,} different whole numbers"
        choice = [Message("choose {one} or {other}", one=Option("task", "classes"), other=Option("task", "values"))]
        raise TargetError(Message("{found}, which may be classes or values", found=found, advice=choice))
    return "classes"


def name_of_class(value: Scalar) -> str:
    """Name of a class: ``1``, ``1.0`` and ``"1"`` are the same one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def shown_number(value: Any) -> str:
    """A number for a message; of an integer with very many digits, which Python does not convert, their number."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"an integer of about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
    return repr(value)


def _by_number_then_word(name: str) -> tuple[bool, float, str]:
    number = scalar(name)
    if isinstance(number, int | float) and abs(number) < math.inf:
        return False, number, name
    return True, 0, name


def _matrix(y: NDArray) -> NDArray:
    """Numbers with a column for each target."""
    return y if y.ndim == 2 else y[:, None]


def _column(name: str | int | None) -> str:
    return "" if name is None else f"column {name!r}: "
