"""``bankgcn export``: a trained model as a file for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankgcn.cli.errors import print_note, with_flags
from bankgcn.cli.output import check_ending, say
from bankgcn.cli.settings import Calibrate, Folders, OneRun
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.files.checked import atomic_write

if TYPE_CHECKING:  # PyTorch is loaded when the command is run
    from bankgcn.data.graphs import GraphSet
    from bankgcn.export import ExportedModel
    from bankgcn.training.ensemble import Ensemble

GENERATED = "generated graphs (also edgeless, of one node)"
OWN_GRAPHS = 64  # of the run, to compare predictions


def export(
    run: OneRun,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="File to write, such as model.onnx.")],
    calibrate: Calibrate = True,
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Write a trained model to an ONNX file, which runs without this package.

    The file takes any number of graphs, nodes and edges. Its predictions are compared with those of the model, on
    generated graphs and on test graphs of the run, before the file is written.
    """
    from bankgcn.cli.open_input import load_models
    from bankgcn.export import export_onnx

    check_ending(onnx, ".onnx")
    ensemble = load_models(run, onnx, folders=folders)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and a file holds one: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    say("exporting and comparing predictions: this takes some seconds", stderr=True)
    test_graphs = _own_graphs(ensemble, folders)
    weighted = not ensemble.reader.ignore_weights
    exported = export_onnx(ensemble.first, test_graphs, calibrated=calibrate, weighted=weighted)
    with atomic_write(onnx) as file:
        file.write(exported.content)
    _describe(exported, onnx, 0 if test_graphs is None else int((test_graphs.num_nodes > 0).sum()))


def _own_graphs(ensemble: Ensemble, folders: DataFolders) -> GraphSet | None:
    """Some test graphs of the run; ``None`` if its data is not there."""
    from bankgcn.cli.open_input import read_input

    try:
        inputs = read_input(ensemble, None, folders, {}, part="test", notes=False)
        return ensemble.first.conform(inputs.graphs[:OWN_GRAPHS])
    except (ValueError, OSError) as error:
        print_note(f"compared on generated graphs only, because those of the run cannot be read: {with_flags(error)}")
        return None


def _describe(exported: ExportedModel, path: Path, num_test_graphs: int) -> None:
    """What the file holds, how it was checked, and how to use it."""
    from bankgcn.export import TOLERANCE, consumer

    about = exported.metadata
    names, columns = json.loads(about["names"]), json.loads(about["columns"])
    say(f"{path}  {len(exported.content) / 1e6:.1f} MB")
    say(f"difference from the model  at most {exported.difference:.0e} (limit {TOLERANCE:.0e})")
    say(f"compared on  {GENERATED}{f' and {num_test_graphs} test graphs' if num_test_graphs else ''}")
    say(f"inputs       {', '.join(exported.inputs)}")
    say(f"columns of x {_shortened(columns)}")
    if "edge_columns" in about:
        say(f"columns of edge_attr {_shortened(json.loads(about['edge_columns']))}")
    if "graph_columns" in about:
        say(f"columns of graph_attr {_shortened(json.loads(about['graph_columns']))}, scaled as in training")
    say(f"predictions  {about['task']}: {_shortened(names)}{_calibration(about)}")
    say("\nTo use it with numpy and onnxruntime alone; x holds the features of the nodes,", lines=True)
    more = (
        ",\nedge_attr the features of the edges, the same in both directions" if "edge_attr" in exported.inputs else ""
    )
    say(f"batch the number of the graph that each of them belongs to{more}:\n", lines=True)
    say(consumer(str(path), exported.inputs), lines=True)


def _calibration(about: dict[str, str]) -> str:
    if about["task"] == "values":
        return ""
    temperature = float(about["temperature"])
    return f"; temperature {temperature:.3g} {'applied' if about['calibrated'] == 'true' else 'not applied'}"


def _shortened(names: list[str], shown: int = 5) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
