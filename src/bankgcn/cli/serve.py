"""``bankgcn serve``: predictions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.errors import print_note
from bankgcn.cli.output import say
from bankgcn.cli.settings import Device, RunArgument, Threads, takes
from bankgcn.extras import require
from bankgcn.serve.access import Limits

LIMITS, ACCESS, DATA = "Limits", "Access", "Data"
MODULES = ("fastapi", "uvicorn", "httptools", "orjson", "prometheus_client")


def _limit(flag: str, help: str, kind: type = int, smallest: float = 1) -> Any:
    return Annotated[kind, typer.Option(flag, min=smallest, help=help, rich_help_panel=LIMITS)]


LIMIT_OPTIONS = {
    "nodes": _limit("--max-nodes", "Nodes of a graph."),
    "edges": _limit("--max-edges", "Edges of a graph."),
    "graphs": _limit("--max-graphs", "Graphs of a request."),
    "total": _limit("--max-total", "Nodes and edges, or letters, of a request."),
    "body": _limit("--max-bytes", "Bytes of a request."),
    "waiting": _limit("--max-waiting", "Requests that wait for an answer."),
    "waiting_body": _limit("--max-waiting-bytes", "Bytes of all requests that arrive or wait."),
    "rows": _limit("--max-rows", "Rows of a table."),
    "table": _limit("--max-table-bytes", "Bytes of a table."),
    "seconds": _limit("--timeout", "Seconds until a request without an answer fails.", float, 0.01),
}


@takes("limits", Limits, LIMIT_OPTIONS)
def serve(
    run: RunArgument,
    *,
    host: Annotated[str, typer.Option(help="Address to listen at.", rich_help_panel=ACCESS)] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.", rich_help_panel=ACCESS)
    ] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with a token that clients must send; else that in $BANKGCN_TOKEN, if it is set.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    allow_anyone: Annotated[
        bool, typer.Option("--allow-anyone", help="Let other machines in without a token.", rich_help_panel=ACCESS)
    ] = False,
    limits: Limits,
    symmetrise: Annotated[
        bool | None,
        typer.Option("--symmetrise/--no-symmetrise", help="Add the missing reverses of edges.", rich_help_panel=DATA),
    ] = None,
    ignore_weights: Annotated[
        bool | None,
        typer.Option(
            "--ignore-weights/--no-ignore-weights",
            help="Treat all edges alike, whatever their weights.",
            rich_help_panel=DATA,
        ),
    ] = None,
    fill_missing: Annotated[
        str | None, typer.Option(help="What stands for a missing entry of a node.", rich_help_panel=DATA)
    ] = None,
    threads: Threads = 1,
    device: Device = "cpu",
) -> None:
    """Answer requests for predictions over HTTP: graphs in JSON or SMILES in, classes or values out.

    The page at / has a form, and /docs explains the requests.

    Graphs are read as in training, unless other options are given.

    Ctrl-C or SIGTERM stops the service; requests that it has accepted are answered first.
    """
    for module in MODULES:
        require(module, "bankgcn serve")
    import torch

    from bankgcn.serve.access import check_address, read_token
    from bankgcn.serve.app import make_app
    from bankgcn.serve.engine import Engine
    from bankgcn.serve.server import address_of, listen, make_server, warm_up
    from bankgcn.training.ensemble import Ensemble
    from bankgcn.training.stepper import usable_device

    token = read_token(token_file)
    check_address(host, token, allow_anyone)
    torch.set_num_threads(threads)
    usable_device(device)  # before files are read
    ensemble = Ensemble.load(run).to(device)
    for other in ensemble.without_model:
        print_note(f"{other} has no model, and so no vote")
    engine = Engine(ensemble, symmetrise=symmetrise, ignore_weights=ignore_weights, fill_missing=fill_missing)
    models = f"{len(ensemble.members)} models in {run}" if len(ensemble.members) > 1 else str(run)
    lock = "with a token" if token else "without a token"
    with listen(host, port) as listening:
        warm_up(engine)
        address = address_of(listening)

        def started() -> None:
            say(f"serving {models} at {address} ({lock}): open it in a browser; Ctrl-C stops", stderr=True)

        app = make_app(engine, limits, token)
        make_server(app, limits, started).run(sockets=[listening])
    say(app.state.tally.summary(), stderr=True)
