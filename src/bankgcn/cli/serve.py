"""``bankgcn serve``: predictions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bankgcn.cli.errors import print_note
from bankgcn.cli.output import say
from bankgcn.cli.settings import RunArgument, Threads
from bankgcn.extras import require
from bankgcn.serve.access import Limits

LIMITS, ACCESS, DATA = "Limits", "Access", "Data"
DEFAULT = Limits()
MODULES = ("fastapi", "uvicorn", "httptools", "orjson", "prometheus_client")


def serve(
    run: RunArgument,
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
    max_nodes: Annotated[int, typer.Option(min=1, help="Nodes of a graph.", rich_help_panel=LIMITS)] = DEFAULT.nodes,
    max_edges: Annotated[int, typer.Option(min=1, help="Edges of a graph.", rich_help_panel=LIMITS)] = DEFAULT.edges,
    max_graphs: Annotated[
        int, typer.Option(min=1, help="Graphs of a request.", rich_help_panel=LIMITS)
    ] = DEFAULT.graphs,
    max_total: Annotated[
        int, typer.Option(min=1, help="Nodes and edges, or letters, of a request.", rich_help_panel=LIMITS)
    ] = DEFAULT.total,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of a request.", rich_help_panel=LIMITS)] = DEFAULT.body,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Requests that wait for an answer.", rich_help_panel=LIMITS)
    ] = DEFAULT.waiting,
    max_waiting_bytes: Annotated[
        int, typer.Option(min=1, help="Bytes of all requests that arrive or wait.", rich_help_panel=LIMITS)
    ] = DEFAULT.waiting_body,
    timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds until a request without an answer fails.", rich_help_panel=LIMITS)
    ] = DEFAULT.seconds,
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

    limits = Limits(
        nodes=max_nodes,
        edges=max_edges,
        graphs=max_graphs,
        total=max_total,
        body=max_bytes,
        waiting=max_waiting,
        waiting_body=max_waiting_bytes,
        seconds=timeout,
    )
    token = read_token(token_file)
    check_address(host, token, allow_anyone)
    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
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
