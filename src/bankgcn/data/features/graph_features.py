"""Features of whole graphs: columns beside the graphs, and descriptors of molecules; what is fitted to training graphs.

A set holds one row for each graph, and a spec, JSON, that says what the columns are: first numbers, then words as
places in a list of values, then counts. In a number or a word, NaN is a missing value. :func:`fit` makes the columns
of a network of them, by the training graphs alone: numbers are scaled and clipped, words become one-hot columns, counts
stay as they are, and columns that are constant are left out. The file of a model has the fitted spec, by which
:func:`conform` makes the same columns for other graphs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.data import GraphError
from bankgcn.messages import Message, advise

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet, Indices

GraphSpec = Mapping[str, Any]

LIMIT = 6.0  # deviations; a number of training graphs is seldom farther from the mean, one of other graphs may be
TAILS = (0.01, 0.99)  # quantiles of the training graphs; what lies outside counts as much as these, for the scale
SHOWN = 5  # names that a note lists
FILL = "fill_features"
FITTED = "center"
"""The entry of a spec that only a fitted one has."""


class Columns(NamedTuple):
    """Features of graphs, and what their columns are."""

    values: Any  # (G, columns) array; None without features
    spec: dict[str, Any]


def matrix_columns(values: ArrayLike, names: Sequence[str] = (), fill: bool = False) -> Columns:
    """The columns of a matrix of numbers, or of counts if they are unsigned integers.

    Args:
        values: Shape ``(G, f)`` or ``(G,)``. NaN is a missing value. Unsigned integers are counts.
        names: Names of the columns; by default their numbers.
        fill: Whether missing values are replaced by the mean of the training graphs.

    Raises:
        GraphError: The values are no such matrix, or names are missing.
    """
    names = tuple(map(str, names))
    array = np.asarray(values)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise GraphError(
            f"graph_features has shape {array.shape} and dtype {array.dtype}, expected (num_graphs, f) numbers"
        )
    names = names or tuple(f"graph feature {number}" for number in range(array.shape[1]))
    if len(names) != array.shape[1] or len(set(names)) < len(names):
        raise GraphError(
            f"graph_features has shape {array.shape}, but {len(set(names))} different names: {', '.join(names[:SHOWN])}"
        )
    if array.dtype.kind == "u":
        return Columns(_counts(array), _spec(counts=names, fill=fill))
    with np.errstate(over="ignore"):  # too large for float32 is missing
        return Columns(array.astype(np.float32), _spec(numbers=names, fill=fill))


def table_columns(table: Any, fill: bool = False) -> Columns:
    """The columns of a table of pandas or Polars, or of a dictionary of lists; NaN and ``None`` are missing values.

    Raises:
        GraphError: The columns differ in length, or hold something else than numbers and words.
    """
    cells: dict[str, list[Any]] = {}
    for name in table if isinstance(table, Mapping) else table.columns:
        values = [each.item() if isinstance(each, np.generic) else each for each in table[name]]
        for row, value in enumerate(values):
            if value is not None and value == value and not isinstance(value, int | float | str):
                raise GraphError(f"{name!r} of graph {row} is {value!r}, expected a number or a word")
        cells[str(name)] = [value if value == value else None for value in values]
    lengths = {len(values) for values in cells.values()}
    if len(lengths) != 1:
        raise GraphError(f"the features of graphs have columns of {sorted(lengths)} rows: expected equally many")
    return value_columns(cells, fill)


def value_columns(cells: Mapping[str, Sequence[Any]], fill: bool = False) -> Columns:
    """The columns of values by name: numbers where all known values are numbers, else words; ``None`` is missing.

    Example:
        >>> columns = value_columns({"temperature": [20, 37.5], "assay": ["b", "a"]})
        >>> columns.values.tolist(), columns.spec["words"]
        ([[20.0, 1.0], [37.5, 0.0]], {'assay': ['a', 'b']})
    """
    numbers: dict[str, NDArray] = {}
    words: dict[str, list[str]] = {}
    places: list[NDArray] = []
    for name, values in cells.items():
        if all(value is None or isinstance(value, int | float) for value in values):
            numbers[name] = np.array([np.nan if value is None else float(value) for value in values], np.float32)
            continue
        texts = [None if value is None else str(value) for value in values]
        words[name] = sorted({text for text in texts if text is not None})
        place = {text: float(number) for number, text in enumerate(words[name])}
        places.append(np.array([np.nan if text is None else place[text] for text in texts], np.float32))
    rows = len(next(iter(cells.values()), ()))
    return Columns(
        np.array([*numbers.values(), *places], np.float32).reshape(-1, rows).T.copy(),
        _spec(numbers=numbers, words=words, fill=fill),
    )


def joined(parts: Sequence[Columns]) -> Columns:
    """Columns of the same graphs, side by side; what is computed comes last."""
    if len(parts) == 1:
        return parts[0]
    specs = [part.spec for part in parts]
    blocks = [
        part.values[:, start:stop] for kind in range(3) for part in parts for start, stop in [_bounds(part.spec)[kind]]
    ]
    filled = [block for block in blocks if block.shape[1]]
    kinds = {block.dtype.kind for block in filled}
    values = np.concatenate(filled or blocks[:1], axis=1)
    return Columns(
        values if kinds == {"u"} else values.astype(np.float32),
        _spec(
            numbers=[name for spec in specs for name in spec["numbers"]],
            words={name: known for spec in specs for name, known in spec["words"].items()},
            counts=[name for spec in specs for name in spec["counts"]],
            computed=sum(spec["computed"] for spec in specs),
            fill=any(spec["fill"] for spec in specs),
            descriptors=[family for spec in specs for family in spec["descriptors"]],
        ),
    )


def computed_columns(names: Sequence[str], values: NDArray, family: str) -> Columns:
    """The columns of descriptors: counts if the values are integers, else numbers, which may be missing.

    Args:
        names: Names of the descriptors.
        values: Their values, shape ``(G, len(names))``.
        family: What the descriptors are called together.
    """
    if values.dtype.kind == "u":
        return Columns(_counts(values), _spec(counts=names, descriptors=[family]))
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    return Columns(numbers, _spec(numbers=names, computed=len(names), descriptors=[family]))


def _spec(
    numbers: Sequence[str] | Mapping[str, Any] = (),
    words: Mapping[str, list[str]] | None = None,
    counts: Sequence[str] = (),
    computed: int = 0,
    fill: bool = False,
    descriptors: Sequence[str] = (),
) -> dict[str, Any]:
    """A spec; the last ``computed`` numbers, and all counts if there are descriptors, are computed from the graph."""
    return {
        "numbers": list(numbers),
        "words": dict(words or {}),
        "counts": list(counts),
        "computed": computed,
        "descriptors": list(descriptors),
        "fill": fill,
    }


def _counts(array: NDArray) -> NDArray:
    """Counts in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _bounds(spec: GraphSpec) -> list[tuple[int, int]]:
    """First and last columns of numbers, words and counts."""
    ends = np.cumsum([0, len(spec["numbers"]), len(spec["words"]), len(spec["counts"])]).tolist()
    return [(ends[number], ends[number + 1]) for number in range(3)]


def is_fitted(spec: GraphSpec) -> bool:
    """Whether the columns are those of a network."""
    return FITTED in spec


def column_names(spec: GraphSpec) -> list[str]:
    """Names of the columns of a network; a one-hot column is called ``name=value``."""
    blocks = [f"{name}={value}" for name, values in spec["words"].items() for value in values]
    return [*spec["numbers"], *blocks, *spec["counts"]]


def num_columns(spec: GraphSpec) -> int:
    """Number of columns that a network takes; 0 without features."""
    if not spec:
        return 0
    return len(spec["numbers"]) + sum(map(len, spec["words"].values())) + len(spec["counts"])


def needed(spec: GraphSpec) -> list[str]:
    """Names of what a user must give for each graph: the features that are not computed from it."""
    if not spec:
        return []
    given = spec["numbers"][: len(spec["numbers"]) - spec["computed"]]
    return [*given, *spec["words"], *([] if spec["descriptors"] else spec["counts"])]


def example_features(spec: GraphSpec) -> dict[str, Any]:
    """Features of a graph as a user gives them: means of the training graphs, and words of theirs."""
    means = dict(zip(spec.get("numbers", ()), spec.get(FITTED, ()), strict=True))
    words = {name: values[0] for name, values in spec.get("words", {}).items()}
    return {name: words.get(name, means.get(name, 0)) for name in needed(spec)}


def network_columns(values: NDArray, spec: GraphSpec) -> NDArray:
    """The columns that a network takes of features as they were read: words become one-hot columns."""
    numbers, places, counts = (values[:, start:stop] for start, stop in _bounds(spec))
    blocks = [
        (column[:, None] == np.arange(len(known))).astype(values.dtype)
        for column, known in zip(places.T, spec["words"].values(), strict=True)
    ]
    return np.concatenate([numbers, *blocks, counts], axis=1)


def fit(graphs: GraphSet, train: Indices) -> GraphSet:
    """The same graphs with features that are fitted to the training graphs; notes say which columns are left out.

    The mean and the deviation of numbers come from values within the 1 % and the 99 % quantile, so that a few outliers
    do not decide them.

    Args:
        graphs: The graphs. Without features, or with fitted ones, they are returned unchanged.
        train: The training graphs.

    Raises:
        GraphError: No column varies.
    """
    spec, values = graphs.graph_spec, graphs.graph_features
    if values is None or is_fitted(spec):
        return graphs
    part = values[np.atleast_1d(np.arange(len(graphs))[train])]
    bounds = _bounds(spec)
    centers: list[float] = []
    widths: list[float] = []
    kept_numbers: list[str] = []
    notes: dict[str, list[str]] = {"constant": [], "not finite": []}
    first_computed = len(spec["numbers"]) - spec["computed"]
    for column, name in enumerate(spec["numbers"]):
        own = part[:, column].astype(np.float64)
        finite = own[np.isfinite(own)]
        if len(finite) < len(own) and (column >= first_computed or not len(finite)):
            notes["not finite"].append(name)
        elif len(finite) < 1 or finite.min() == finite.max():
            notes["constant"].append(name)
        else:
            center, width = _scale(finite)
            kept_numbers.append(name)
            centers.append(center)
            widths.append(width)
    words, unseen = {}, {}
    for (name, known), column in zip(spec["words"].items(), range(*bounds[1]), strict=True):
        present = np.unique(part[:, column][np.isfinite(part[:, column])]).astype(int).tolist()
        if len(present) < 2:
            notes["constant"].append(name)
        else:
            words[name] = [known[place] for place in present]
            unseen[name] = [known[place] for place in range(len(known)) if place not in set(present)]
    counts = part[:, slice(*bounds[2])]
    varies = (counts != counts[:1]).any(0) if len(counts) else np.zeros(len(spec["counts"]), bool)
    kept_counts = [name for name, one in zip(spec["counts"], varies.tolist(), strict=True) if one]
    notes["constant"] += [name for name, one in zip(spec["counts"], varies.tolist(), strict=True) if not one]
    fitted = {
        **_spec(kept_numbers, words, kept_counts, 0, spec["fill"], spec["descriptors"]),
        "computed": sum(name in set(spec["numbers"][first_computed:]) for name in kept_numbers),
        FITTED: centers,
        "width": widths,
        "unseen": unseen,
    }
    if not num_columns(fitted):
        raise GraphError(
            f"{graphs.name or 'the set'}: no feature of the graphs differs between training graphs: leave them out"
        )
    total = len(spec["numbers"]) + len(spec["words"]) + len(spec["counts"])
    result = conform(graphs, fitted, graphs.name or "the set")
    return replace(result, notes=(*result.notes, *_left_out(notes, total)))


def _scale(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation, with outliers drawn in; of all values if nearly all are equal."""
    drawn = np.clip(values, *np.quantile(values, TAILS))
    drawn = drawn if drawn.std() > 0 else values
    return float(drawn.mean()), float(drawn.std())


def _left_out(reasons: Mapping[str, Sequence[str]], total: int) -> tuple[str, ...]:
    """A note on the columns that are left out."""
    parts = []
    for reason, names in reasons.items():
        if names:
            listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            parts.append(f"{len(names):,} {'is' if len(names) == 1 else 'are'} {reason} ({listed})")
    count = sum(map(len, reasons.values()))
    where = "in the training graphs and left out"
    return (f"of {total:,} features of the graphs, {' and '.join(parts)} {where}",) if count else ()


def conform(graphs: GraphSet, expected: GraphSpec, name: str) -> GraphSet:
    """The same graphs with the features that a network expects.

    Args:
        graphs: The graphs.
        expected: The fitted spec of the training graphs; empty if they have no such features.
        name: Name of the graphs in messages.

    Raises:
        GraphError: The graphs lack a feature, or a value is missing or not known from training.
    """
    if not expected:
        return graphs if graphs.graph_features is None else replace(graphs, graph_features=None, graph_spec={})
    spec = graphs.graph_spec
    if graphs.graph_features is not None and is_fitted(spec):
        if {**spec, "fill": expected["fill"]} != dict(expected):
            raise GraphError(f"{name} has features of graphs that were fitted to other training graphs")
        return graphs
    values, fill = _columns_by_name(graphs, expected, name), expected["fill"] or (bool(spec) and spec["fill"])
    numbers = len(expected["numbers"])
    columns: list[NDArray] = []
    filled: list[str] = []
    for number, key in enumerate(expected["numbers"]):
        column = values[key].astype(np.float64)
        missing = ~np.isfinite(column)
        if missing.any():
            computed = number >= numbers - expected["computed"]
            if not (fill or computed):
                raise _missing(graphs, name, key, int(np.flatnonzero(missing)[0]))
            filled.append(key)
        scaled = (column - expected[FITTED][number]) / expected["width"][number]
        columns.append(np.where(missing, 0, np.clip(scaled, -LIMIT, LIMIT)).astype(np.float32)[:, None])
    for key, known in expected["words"].items():
        columns.append(_one_hot(graphs, values[key], key, known, expected["unseen"].get(key, ()), fill, name))
    for key in expected["counts"]:
        for row in np.flatnonzero(~np.isfinite(values[key]))[:1]:
            raise _missing(graphs, name, key, int(row))
        columns.append(values[key][:, None])
    kind = np.float32 if numbers else None
    joined_columns = np.concatenate(columns, axis=1)
    result = joined_columns.astype(kind) if kind else _counts(joined_columns)
    notes = graphs.notes
    if filled:
        listed = ", ".join(filled[:SHOWN]) + (", ..." if len(filled) > SHOWN else "")
        note = f"missing features of graphs have the mean of the training graphs: {listed}"
        notes = notes if note in notes else (*notes, note)
    return replace(graphs, graph_features=np.ascontiguousarray(result), graph_spec=dict(expected), notes=notes)


def _columns_by_name(graphs: GraphSet, expected: GraphSpec, name: str) -> dict[str, NDArray]:
    """The columns of graphs that are wanted, as they were read; words are texts or ``None``.

    Raises:
        GraphError: The graphs lack some.
    """
    wanted = [*expected["numbers"], *expected["words"], *expected["counts"]]
    spec, array = graphs.graph_spec, graphs.graph_features
    columns: dict[str, NDArray] = {}
    if array is not None:
        places = {key: place for place, key in enumerate([*spec["numbers"], *spec["words"], *spec["counts"]])}
        columns = {key: array[:, places[key]] for key in wanted if key in places}
    lacking = [key for key in wanted if key not in columns]
    if lacking:
        listed = ", ".join(map(repr, lacking[:SHOWN])) + (
            f" and {len(lacking) - SHOWN:,} more" * (len(lacking) > SHOWN)
        )
        raise GraphError(f"the model needs features of each graph that {name} does not have: {listed}")
    for key, known in spec["words"].items():
        if key in expected["words"]:
            texts = [*known, None]
            columns[key] = np.array(
                [texts[-1 if math.isnan(place) else int(place)] for place in columns[key].tolist()], object
            )
        elif key in columns:
            raise GraphError(f"{name}: {key!r} has words such as {known[0]!r}, but it was a number in training")
    for key in expected["words"]:
        if key in spec["numbers"]:  # in this file, all of its words are numbers
            columns[key] = np.array([None if math.isnan(v) else f"{v:g}" for v in columns[key].tolist()], object)
    return columns


def _one_hot(
    graphs: GraphSet,
    texts: NDArray,
    key: str,
    known: Sequence[str],
    unseen: Sequence[str],
    fill: bool,
    name: str,
) -> NDArray:
    """One-hot columns of words; a word of no training graph, but of the other parts, has none."""
    columns = np.zeros((len(texts), len(known)), np.float32)
    place = {value: number for number, value in enumerate(known)}
    for row, text in enumerate(texts.tolist()):
        if text in place:
            columns[row, place[text]] = 1
        elif text is None and not fill:
            raise _missing(graphs, name, key, row)
        elif text is not None and text not in unseen and not fill:
            listed = ", ".join(known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
            wrong = "{name}: {key!r} of {row} is {text!r}, which no training graph has ({listed}){advice}"
            values = {"name": name, "key": key, "row": _row(graphs, row), "text": text, "listed": listed}
            raise GraphError(Message(wrong, **values, advice=[advise(FILL, True, "goes on without it")]))
    return columns


def _missing(graphs: GraphSet, name: str, key: str, row: int) -> GraphError:
    wrong = "{name}: {key!r} of {row} is missing{advice}"
    advice = [advise(FILL, True, "takes the mean of the training graphs")]
    return GraphError(Message(wrong, name=name, key=key, row=_row(graphs, row), advice=advice))


def _row(graphs: GraphSet, row: int) -> str:
    """How a message names a graph."""
    number = f"graph {graphs.rows[row] if graphs.skipped else row}"
    return number if graphs.names is None else f"{number} ({graphs.names[row]!r})"


def all_followed(sets: Sequence[GraphSet]) -> Columns:
    """The features of the graphs of several sets, one set after another; words get one list of values.

    Raises:
        GraphError: The sets have other columns, or were fitted to other training graphs.
    """
    first = sets[0].graph_spec
    for number, graphs in enumerate(sets):
        spec = graphs.graph_spec
        same = bool(spec) == bool(first) and is_fitted(spec) == is_fitted(first)
        if not same or any(list(spec[kind]) != list(first[kind]) for kind in ("numbers", "words", "counts") if first):
            raise GraphError(f"set {number} has other features of graphs than set 0")
        if is_fitted(first) and spec != first:
            raise GraphError(f"the features of graphs of set {number} were fitted to other training graphs")
    values = [graphs.graph_features for graphs in sets if graphs.graph_features is not None]
    if not values:
        return Columns(None, {})
    if is_fitted(first):
        return Columns(np.concatenate(values), dict(first))
    words = {
        name: sorted({word for graphs in sets for word in graphs.graph_spec["words"][name]}) for name in first["words"]
    }
    mapped = [_renumbered(own, graphs.graph_spec, words) for own, graphs in zip(values, sets, strict=True)]
    fill = any(graphs.graph_spec["fill"] for graphs in sets)
    return Columns(np.concatenate(mapped), {**first, "words": words, "fill": fill})


def _renumbered(values: NDArray, spec: GraphSpec, words: Mapping[str, Sequence[str]]) -> NDArray:
    """The columns with words numbered in other lists."""
    values = values.copy()
    for (name, known), column in zip(spec["words"].items(), range(*_bounds(spec)[1]), strict=True):
        place = {value: number for number, value in enumerate(words[name])}
        table = np.array([*(place[value] for value in known), np.nan])
        own = values[:, column]
        values[:, column] = table[np.where(np.isnan(own), len(known), np.nan_to_num(own)).astype(int)]
    return values


def check_columns(values: NDArray | None, spec: Any, num_graphs: int) -> None:
    """Raise unless the features of a set have a row for each graph and a column for each entry of their spec."""
    if values is None:
        if spec:
            raise GraphError(f"there are no features of graphs, but their spec is {spec!r}")
        return
    check_graph_spec(spec)
    expected = num_columns(spec) if is_fitted(spec) else _bounds(spec)[2][1]
    if values.shape != (num_graphs, expected) or values.dtype.kind not in "fu":
        raise GraphError(
            f"graph_features has shape {values.shape} and dtype {values.dtype}, expected ({num_graphs}, {expected}) "
            "numbers in single precision, or counts"
        )
    if not is_fitted(spec):
        for known, column in zip(spec["words"].values(), range(*_bounds(spec)[1]), strict=True):
            places = values[:, column]
            if not (np.isnan(places) | ((places >= 0) & (places < len(known)) & (places % 1 == 0))).all():
                raise GraphError("graph_features holds the place of a word that its list does not have")


def check_graph_spec(spec: Any) -> None:
    """Raise unless a value of a file describes features of graphs.

    Raises:
        GraphError: The message names the entry and its value.
    """
    if not isinstance(spec, Mapping):
        raise GraphError(f"the features of graphs are {spec!r}, expected their description")
    for name in ("numbers", "counts", "descriptors"):
        _check_words(name, spec.get(name))
    for name in ("words", "unseen") if is_fitted(spec) else ("words",):
        lists = spec.get(name)
        if not isinstance(lists, Mapping) or not all(isinstance(key, str) for key in lists):
            raise GraphError(f"{name} of the features of graphs is {lists!r}, expected names with lists of words")
        for key, values in lists.items():
            _check_words(f"{name} of {key}", values)
    names = [*spec["numbers"], *spec["words"], *spec["counts"]]
    if len(set(names)) < len(names):
        raise GraphError("the features of graphs have a name twice")
    computed = spec.get("computed")
    if not isinstance(computed, int) or isinstance(computed, bool) or not 0 <= computed <= len(spec["numbers"]):
        raise GraphError(f"computed of the features of graphs is {computed!r}, expected how many numbers are computed")
    if not isinstance(spec.get("fill"), bool):
        raise GraphError(f"fill of the features of graphs is {spec.get('fill')!r}, expected true or false")
    if not is_fitted(spec):
        return
    for name in (FITTED, "width"):
        values = spec.get(name)
        if not isinstance(values, list) or len(values) != len(spec["numbers"]) or not all(map(_is_number, values)):
            raise GraphError(f"{name} of the features of graphs is {values!r}, expected a number for each column")
    if any(value <= 0 for value in spec["width"]):
        raise GraphError(f"width of the features of graphs is {spec['width']!r}, expected positive numbers")


def _check_words(name: str, values: Any) -> None:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise GraphError(f"{name} of the features of graphs is {values!r}, expected a list of words")
    if len(set(values)) < len(values):
        raise GraphError(f"{name} of the features of graphs has a word twice: {values!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
