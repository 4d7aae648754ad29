"""The settings of a run as flags and files name them, and the options that commands share.

Every field of :class:`RunSpec` that is a setting becomes a flag and a key of configuration files. Nothing is listed
twice. Options are ``None`` unless they are typed: what is typed overrides a file, and what is not typed must not.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.commands import PATH, HelpAll
from bankgcn.cli.errors import print_error
from bankgcn.data.catalog import CATALOG, DataFolders, cache_folder, catalog_name
from bankgcn.extras import require
from bankgcn.files.checked import TomlSettings, check_name, read_toml
from bankgcn.messages import Message, Option, Spelling, message_of
from bankgcn.nn.convs import CONVS
from bankgcn.settings import Plain, pick
from bankgcn.training.presets import PAPER, PRESETS
from bankgcn.training.spec import (
    DATA_ROOT,
    DEFAULTS,
    RUN_SETTINGS,
    SOURCE,
    Place,
    RunSpec,
    complete_settings,
    given_settings,
    protocol,
    spec_of,
    unused_settings,
)

if TYPE_CHECKING:
    from bankgcn.data.workers import Workers

MAX_NAME = 200  # bytes; file systems end at 255
READING = {
    name: place
    for name, place in RUN_SETTINGS.items()
    if place.part == "reader" and name not in ("features", "standardize", "scale", "encoding")
}
"""The settings of commands that read graphs for a trained model, which knows the features and their scale."""
APPLYING = {name: place for name, place in READING.items() if name != "skip_missing"}
"""The settings of commands that apply a model: rows without a target stay."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run: complete, checked, in a fixed order, as flags and files name it."""

    values: Mapping[str, Plain]

    @classmethod
    def resolve(cls, flags: Mapping[str, Plain], file: Mapping[str, Plain] | None = None, where: str = "") -> Settings:
        """Flags override a file, then the preset, then the protocol of the dataset, then the defaults.

        Args:
            flags: What was typed.
            file: The content of a file.
            where: Name of the file in messages.

        Raises:
            ValueError: A setting is unknown, of the wrong type, out of range, or not one of the model's.
        """
        given = given_settings(flags, file, where)
        given[SOURCE] = _canonical_source(str(given.get(SOURCE, DEFAULTS[SOURCE])))
        if given.get("test"):
            given["test"] = _canonical_source(str(given["test"]))
        if given.get("init_from"):
            given["init_from"] = full_path(str(given["init_from"]))
            given = _with_shared_settings(given)
        if given.get(DATA_ROOT):
            given[DATA_ROOT] = full_path(str(given[DATA_ROOT]))
        with named_in_file(file, given):
            settings = cls(complete_settings(given, _are_molecules(given)))
            _ = settings.spec  # which checks its own values
        return settings

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @cached_property
    def spec(self) -> RunSpec:
        """The run that the settings describe."""
        return spec_of(self[SOURCE], self.values)

    @property
    def folders(self) -> DataFolders:
        """Where to look for datasets."""
        return DataFolders(self[DATA_ROOT] or None)

    def with_preset(self, *names: str) -> Settings:
        """The settings of a run of the same graphs with the same preset, and with these settings."""
        names = (SOURCE, DATA_ROOT, "preset", *names)
        return Settings.resolve({name: self[name] for name in names if self[name] != ""})

    def differing(self, other: Settings) -> list[str]:
        """Names of the settings that differ, apart from where the data lies."""
        keys = [key for key in DEFAULTS if key != DATA_ROOT]
        return [key for key in keys if self.values.get(key) != other.values.get(key)]

    @property
    def voters(self) -> tuple[tuple[str, ...], int]:
        """The models that vote by the preset, and the number of seeds of each network."""
        row = PRESETS[self["preset"]]
        return row.voters(bool(_are_molecules(self.values))), row.seeds

    @property
    def name(self) -> str:
        """A name for the run: its data, model and seed, and what differs from the defaults."""
        usual = self.with_preset("model", "seed")
        parts = [Path(self[SOURCE]).stem, self["model"], str(self["seed"])]
        parts += [] if self["preset"] == Settings.resolve({SOURCE: self[SOURCE]})["preset"] else [self["preset"]]
        values = {**self.values, "init_from": Path(str(self.values.get("init_from", ""))).name}
        parts += [f"{key}={values[key]}" for key in self.differing(usual)]
        name = re.sub(r"[^\w.=-]+", "_", "-".join(parts))
        return name.encode(errors="replace")[:MAX_NAME].decode(errors="ignore")  # letters may have several bytes


def _are_molecules(given: Mapping[str, Plain]) -> bool | None:
    """Whether the nodes of the graphs are atoms; ``None`` for datasets of the catalogue with the paper's settings."""
    if catalog_name(str(given[SOURCE])) is not None and given.get("preset", PAPER) == PAPER:
        return None
    from bankgcn.data.sources import find_source

    try:
        return find_source(str(given[SOURCE]), DataFolders(str(given.get(DATA_ROOT, "")) or None)).holds_molecules
    except (ValueError, OSError):  # whoever reads them says so
        return False


def _with_shared_settings(given: dict[str, Plain]) -> dict[str, Plain]:
    """What is given, and the settings that a run has from the one that it starts from, where nothing else is given."""
    from bankgcn.training.warm_start import SHARED, Parent

    known = "model" in given and not set(SHARED) - set(given) - unused_settings(str(given["model"]))
    if known:  # a file of settings has them all; the run that it started from need not be there any more
        return given
    shared = Parent.load(str(given["init_from"])).shared
    others = given.get("model", shared["model"]) != shared["model"]  # which is refused, but not by its options
    return {name: value for name, value in shared.items() if not (others and _is_of_convolution(name))} | given


def _is_of_convolution(name: str) -> bool:
    return RUN_SETTINGS[name].part == "conv_options"


@contextmanager
def named_in_file(file: Mapping[str, Plain] | None, given: Mapping[str, Plain]) -> Iterator[None]:
    """Let an error on the value of a setting name the file and the line that it comes from.

    Args:
        file: The content of the file.
        given: The settings that count; those that are not as in the file were typed.
    """
    try:
        yield
    except ValueError as error:
        message = message_of(error)
        if isinstance(message, Message) and isinstance(file, TomlSettings):
            for name in (option.name for option in message.options):
                if name in file and file[name] == given.get(name):
                    raise ValueError(f"{file.place(name)}: {message.spelled(AS_KEYS)}") from error
        raise


def as_key(option: Option) -> str:
    """An option as a file of settings writes it.

    Example:
        >>> as_key(Option("metric", "mae")), as_key(Option("epochs", 0)), as_key(Option("seed"))
        ('metric = "mae"', 'epochs = 0', 'seed')
    """
    return option.name if option.alone else f"{option.name} = {json.dumps(option.value)}"


AS_KEYS = Spelling(as_key, has=RUN_SETTINGS.__contains__)


def read_settings(path: Path) -> TomlSettings:
    """The settings of a file, which may be edited by hand; a note says so."""
    settings = read_toml(path)
    if settings.changed:
        print_error(f"note: {path} was changed after it was written; its settings count as they are now")
    return settings


def full_path(path: str) -> str:
    """The path from the root, which means the same in every folder."""
    return str(Path(path).expanduser().absolute())


def _canonical_source(source: str) -> str:
    """A dataset by its own name, a file by its full path: what means the same wherever it is read again."""
    if not source:  # an empty path would be the current folder
        raise ValueError("the name of the graphs is empty: expected a dataset's name, a file or a folder")
    if source == STANDARD_INPUT:  # SOURCE has been read by now
        raise ValueError("only SOURCE can be standard input: write these graphs to a file, and name it instead of '-'")
    check_name(source)
    path = Path(source).expanduser()
    return catalog_name(source) or (str(path.resolve()) if path.exists() else source)


STANDARD_INPUT = "-"
FROM_STANDARD_INPUT = "'-' is standard input."
"""A sentence for the help of such arguments."""
PIECE = 1 << 20  # bytes that are read at once
BEGINNING = 16 << 20  # bytes by which a format is recognised
_SIGNATURES = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".zip",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ": ".csv.xz",
    b"[": ".json",
    b"<": ".graphml",
}
"""How files of some formats begin."""
_GML = re.compile(rb"(?:(?:Creator|Version|#)[^\n]*\n\s*)*graph\s*\[")


def source_argument(source: str | None) -> str | None:
    """The source that an argument names. The content of standard input is kept in a file, which a run can read again.

    The file is in the folder ``stdin`` of the cache folder; its name depends on its content alone.

    Raises:
        ValueError: Standard input is closed or empty.
    """
    return source if source != STANDARD_INPUT else str(_keep_standard_input()[0])


def applied_source_argument(context: typer.Context, source: str | None) -> str | None:
    """The same for commands that need the content of standard input until they end, and no longer."""
    if source != STANDARD_INPUT:
        return source
    path, is_new = _keep_standard_input()
    if is_new:
        context.call_on_close(lambda: path.unlink(missing_ok=True))
    return str(path)


def _keep_standard_input() -> tuple[Path, bool]:
    """The file with the content of standard input, and whether it is new. The content is never held as a whole."""
    folder = cache_folder() / "stdin"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        path, digest, beginning = Path(unfinished) / "content", hashlib.sha256(), b""
        with path.open("wb") as file:
            while sys.stdin and (piece := sys.stdin.buffer.read(PIECE)):  # None: the shell has closed it
                file.write(piece)
                digest.update(piece)
                if len(beginning) < BEGINNING:
                    beginning = (beginning if beginning.strip() else b"") + piece
        if not beginning.strip():
            raise ValueError("standard input is empty: expected graphs or a table of molecules")
        kept = folder / f"stdin-{digest.hexdigest()[:16]}{guess_ending(beginning)}"
        is_new = not kept.exists()
        if is_new:
            os.replace(path, kept)
    return kept, is_new


def guess_ending(content: bytes) -> str:
    r"""The ending of a file with this content; a table of molecules in CSV if nothing else is likely.

    Example:
        >>> [guess_ending(text) for text in (b"smiles,y\nCCO,1", b"CCO ethanol\n", b'{"nodes": []}\n')]
        ['.csv', '.smi', '.jsonl']
    """
    text = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"PK") and b"xl/workbook.xml" in text:
        return ".xlsx"
    for start, ending in _SIGNATURES.items():
        if text.startswith(start):
            return ending
    if text.startswith(b"{"):
        return ".jsonl" if _is_json(text.partition(b"\n")[0]) else ".json"
    if _GML.match(text):
        return ".gml"
    if b"M  END" in text:
        return ".sdf"
    header = text.partition(b"\n")[0].lower()
    named = b"smiles" in header or (b"graph" in header and b"source" in header)
    return ".csv" if named or b"," in header or b";" in header else ".smi"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _folders(folder: str | DataFolders) -> DataFolders:
    """The folders that an option stands for; a default is no text."""
    return folder if isinstance(folder, DataFolders) else DataFolders(Path(folder))


Folders = Annotated[
    DataFolders,
    typer.Option(
        "--data-root",
        metavar=PATH,
        parser=_folders,
        show_default=False,
        help="Where to look for datasets first; then in $BANKGCN_DATA, then in the user's cache folder.",
        rich_help_panel="Data",
    ),
]
IgnoreTargets = Annotated[bool, typer.Option("--ignore-targets", help="Read no targets.", rich_help_panel="Data")]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SHARE",
        help="Intervals of values or sets of classes that hold the truth with this probability, such as 0.9.",
        show_default=False,
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=1, help="Threads that share each batch; the result is the same on any number.", rich_help_panel="Run"
    ),
]
Address = Annotated[str | None, typer.Option(help="Address of the Ray cluster, for --engine ray.")]
ROW_OPTIONS = {
    "workers": Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that read a large source; by default one for each core. Any number gives the same result.",
            show_default=False,
            rich_help_panel="Run",
        ),
    ],
    "engine": Annotated[
        str,
        typer.Option(
            metavar="local|ray",
            help="Where the rows of a large source are parsed: by processes of this machine, or of a Ray cluster.",
            rich_help_panel="Run",
        ),
    ],
    "address": Address,
}
"""The options of :class:`RowReading`."""


Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A dataset's name, molecules (.csv, .parquet, .xlsx, .smi, .sdf), graphs (.jsonl, .json, .graphml, .gml, "
        "a folder of such files), a table of edges, a folder of images, or a folder or zip in the TU format. "
        f"{FROM_STANDARD_INPUT}",
        callback=source_argument,
        show_default="MUTAG, which comes with the package",
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda",
        help="Where networks compute: on the CPU, or on a GPU, by autograd.",
        rich_help_panel="Run",
    ),
]
OF_RUNS = "Folder of a run, or a folder of several, whose predictions are averaged."
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help=OF_RUNS)]
OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Calibrate = Annotated[
    bool, typer.Option(help="Apply the temperature that was fitted to the validation graphs to the probabilities.")
]
SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help=f"The graphs: whatever bankgcn train takes. Not needed with --part. {FROM_STANDARD_INPUT}",
        show_default=False,
        callback=applied_source_argument,
    ),
]
Part = Annotated[
    str | None,
    typer.Option(metavar="train|valid|test", help="Only this part of the graphs that the run was trained with."),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Explain this class, value or label. By default a page starts with the predicted class, the label that "
        "is most wrong, or the first value, and a table has all of them.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class RowReading:
    """Who parses the rows of a large source."""

    workers: int | None = None
    engine: str = "local"
    address: str | None = None

    def start(self) -> Workers:
        """The workers.

        Raises:
            ValueError: There is no such engine or cluster.
        """
        from bankgcn.data.workers import Workers

        def on_cluster() -> Workers:
            require("ray", "--engine ray")
            from bankgcn.experiments.engines.cluster import RayWorkers

            return RayWorkers(self.address, self.workers)

        make = pick({"local": lambda: Workers(self.workers), "ray": on_cluster}, self.engine, "engine")
        if self.address is not None and self.engine != "ray":
            raise ValueError(f"--address {self.address}: only --engine ray has an address")
        return make()


def names_in(typed: str | None, option: str) -> list[str] | None:
    """The names in a list that is separated by commas; ``None`` if the option is not given."""
    if typed is None:
        return None
    names = [name.strip() for name in typed.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--{option} {typed!r}: expected names, separated by commas")
    return names


def numbers_in(typed: str, option: str) -> tuple[float, ...]:
    """The numbers in a list that is separated by commas."""
    try:
        return tuple(float(number) for number in names_in(typed, option) or ())
    except ValueError as error:
        raise ValueError(f"--{option} {typed!r}: expected numbers, separated by commas") from error


def takes(name: str, made: type, options: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options from which one of its arguments is made.

    Args:
        name: The parameter of the command; its options stand in its place.
        made: The dataclass of the argument.
        options: The annotation of each option, by the name of the field, whose default it has.
    """
    made_from = [
        Parameter(field, Parameter.KEYWORD_ONLY, default=getattr(made, field), annotation=option)
        for field, option in options.items()
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def typed(**values: Any) -> None:
            argument = made(**{field: values.pop(field) for field in options})
            command(**values, **{name: argument})

        parameters = signature(command, eval_str=True).parameters.values()
        arranged = chain.from_iterable(made_from if item.name == name else [item] for item in parameters)
        typed.__signature__ = Signature(list(arranged))  # type: ignore[attr-defined]
        return typed

    return decorate


def with_settings(
    places: Mapping[str, Place], hidden: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes ``**flags`` an option for each of these settings.

    If some settings are advanced, the command has a second page of help with all of them; the first leaves them out.

    Args:
        places: The settings.
        hidden: Those that the help does not list.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def typed(help_all: bool = False, **values: Any) -> None:  # the parser has shown the help
            command(**values)

        parameters = signature(command, eval_str=True).parameters.values()
        options = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=_option(name, place, name in hidden))
            for name, place in places.items()
        ]
        kept = [item for item in parameters if item.kind is not Parameter.VAR_KEYWORD and item.name not in places]
        advanced = [name for name, place in places.items() if place.setting.advanced]
        if advanced:
            options.append(Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))
        typed.advanced = advanced  # type: ignore[attr-defined]
        typed.__signature__ = Signature([*kept, *options])  # type: ignore[attr-defined]
        return typed

    return decorate


def _option(name: str, place: Place, hidden: bool) -> Any:
    row = place.setting
    flag = f"--{name.replace('_', '-')}"
    names = (f"{flag}/--no-{flag[2:]}",) if row.kind is bool else (flag,)
    help = " ".join(filter(None, [row.help, _choices(place), _models(name, place), _defaults(name)]))
    return Annotated[
        row.kind | None, typer.Option(*names, help=help, show_default=False, rich_help_panel=row.panel, hidden=hidden)
    ]


def _choices(place: Place) -> str:
    row = place.setting
    choices = [*row.choices, *([str(row.none)] if row.choices and row.none else [])]
    return f"{', '.join(choices)}." if choices else ""


def _models(name: str, place: Place) -> str:
    """The models that have an option of the convolution."""
    if place.part != "conv_options":
        return ""
    models = [model for model, conv in CONVS.items() if place.field in conv.options]
    return f"For {', '.join(models)}."


def _defaults(name: str) -> str:
    """The default, and the values that the paper sets otherwise for some datasets."""
    default = DEFAULTS[name]
    notes = [f"default: {str(default).lower() if isinstance(default, bool) else default}"] if default != "" else []
    changed = {dataset: protocol(dataset)[name] for dataset in CATALOG if name in protocol(dataset)}
    for value in dict.fromkeys(changed.values()):
        datasets = [dataset for dataset in changed if changed[dataset] == value]
        notes.append(f"{value} for {' and '.join(datasets)}")
    return f"({'; '.join(notes)})" if notes else ""
