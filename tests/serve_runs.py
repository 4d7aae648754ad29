"""Runs for the tests of the service: small networks with random weights, and a service that runs in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import torch

from bankgcn.data.features.spec import describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.json_graphs import graph_set
from bankgcn.data.readers.node_link import Entry
from bankgcn.serve.access import Limits
from bankgcn.serve.app import make_app
from bankgcn.serve.engine import Answer, Engine
from bankgcn.serve.requests import PredictRequest
from bankgcn.serve.server import listen, make_server
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder

Wanted = Callable[[int], bool]
SMILES = ("CCO", "c1ccccc1", "CC(=O)O", "CN", "C", "[Na+].[Cl-]", "C1CC1N", "OC(=O)c1ccccc1")
TASKS = {
    "classes": Task(names=("no", "perhaps", "yes")),
    "values": Task(kind="values", names=("logp", "size"), center=(1.5, -3.0), scale=(2.0, 0.1)),
    "value": Task(kind="values", names=("size",), center=(1.5,), scale=(2.0,)),
    "labels": Task(kind="labels", names=("toxic", "soluble")),
}


def random_graph(nodes: int, seed: int, weighted: bool = False) -> dict[str, Any]:
    """A graph in JSON whose nodes have a number, two numbers and a word."""
    chance = torch.Generator().manual_seed(seed)
    numbers = torch.randn(nodes, 3, generator=chance).tolist()
    words = torch.randint(3, (nodes,), generator=chance).tolist()
    pairs = torch.randint(nodes, (2 * nodes, 2), generator=chance).tolist() if nodes else []
    edges = {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}
    weight = {"weight": 0.5 + seed} if weighted else {}
    return {
        "nodes": [
            {"id": f"n{n}", "charge": row[0], "place": row[1:], "element": "CNO"[word]}
            for n, (row, word) in enumerate(zip(numbers, words, strict=True))
        ],
        "edges": [{"source": f"n{i}", "target": f"n{j}", **weight} for i, j in sorted(edges)],
    }


def training_graphs() -> GraphSet:
    """Graphs in JSON as a set, with words that no training graph has."""
    graphs = graph_set(
        [Entry(random_graph(9, seed), Path("own")) for seed in range(4)],
        "own",
        ReadOptions(),
        Expected(has_target=False),
    )
    spec = {**graphs.feature_spec, "unseen": {"element": ["Xe"]}}
    return GraphSet(**{**_fields(graphs), "feature_spec": spec})


def _fields(graphs: GraphSet) -> dict[str, Any]:
    return {name: getattr(graphs, name) for name in graphs.__dataclass_fields__}


def save_run(
    folder: Path,
    graphs: GraphSet,
    task: str = "classes",
    seed: int = 0,
    scale: float = 1.0,
    reader: dict[str, Any] | None = None,
    **config: Any,
) -> Path:
    """Save a network with random weights as the run of some training graphs.

    Args:
        folder: The folder of the run.
        graphs: The graphs whose features it takes.
        task: A name in ``TASKS``.
        seed: What its weights follow from.
        scale: Factor of its weights.
        reader: Options of the reader.
        **config: Options of the network.
    """
    torch.manual_seed(seed)
    options = {"hidden_channels": 16, "num_layers": 2, **config}
    model = ModelConfig(**options)
    net = model.build(graphs.num_features, TASKS[task].out_channels, graph_dim=graphs.num_graph_features).float()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(scale)
    temperature = 1.0 if TASKS[task].kind == "values" else 1.25
    metadata: dict[str, Any] = {"signals": describe_features(graphs), "temperature": temperature}
    if graphs.graph_spec:
        metadata["graph_features"] = dict(graphs.graph_spec)
    if reader is not None:
        from bankgcn.training.spec import RunSpec

        metadata["run"] = RunSpec(dataset="own", reader=ReadOptions(**reader), model=model).to_dict()
    folder.mkdir(parents=True)
    RunFolder(folder).config.touch()
    TrainedModel(net, model, TASKS[task], graphs.num_features, metadata).save(RunFolder(folder).model)
    return folder


@dataclass(frozen=True)
class Service:
    """A service at a port of this machine."""

    port: int

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, content and headers of an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, sent, {**kind, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.status, json.loads(content) if is_json else content.decode(), dict(answer.headers.items())

    def predict(self, **body: Any) -> tuple[int, Any]:
        """Status and content of the answer to a request for predictions."""
        return self.request("POST", "/predict", body)[:2]


@contextmanager
def running(run: Path | Engine, limits: Limits | None = None, token: str | None = None) -> Iterator[Service]:
    """A service in a thread."""
    engine = run if isinstance(run, Engine) else Engine(Ensemble.load(run))
    limits = limits or Limits()
    server, listening = make_server(make_app(engine, limits, token), limits), listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield Service(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


class SlowEngine(Engine):
    """Answers when it is allowed to, and counts the requests of each batch."""

    def __init__(self, run: Path):
        super().__init__(Ensemble.load(run))
        self.allowed, self.batches = threading.Event(), list[int]()

    def answer(self, requests: Sequence[PredictRequest], wanted: Wanted = lambda number: True) -> list[Answer]:
        """Wait, then answer."""
        self.batches.append(len(requests))
        self.allowed.wait(20)
        return super().answer(requests, wanted)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def waiting(service: Service) -> int:
    """Number of requests that wait for an answer."""
    text = service.request("GET", "/metrics")[1]
    return int(float(next(line.split()[1] for line in text.splitlines() if line.startswith("bankgcn_waiting"))))
