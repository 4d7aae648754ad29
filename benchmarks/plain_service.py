"""The service that a user of FastAPI and PyG writes: each request is one call of the network.

    python benchmarks/plain_service.py RUN --port 8001 [--handler def]

It has the weights of a run of the paper's BankGCN whose nodes have one word; ``serve_load.py`` compares it with ours.
FastAPI calls an ``async def`` handler in its loop, one request after another, a ``def`` handler in one of 40 threads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from torch_geometric.data import Batch, Data

from bankgcn.bench.peers import PlainNetwork, plain_bank_conv
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel


class Graph(BaseModel):
    """A graph of a request."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class Body(BaseModel):
    """A request."""

    graphs: list[Graph]


def plain_network(model: TrainedModel) -> PlainNetwork:
    """The plain network with the weights of a trained one."""
    net = PlainNetwork(plain_bank_conv, model.in_channels, model.task.out_channels)
    for theirs, own in zip(net.convs, model.net.convs, strict=True):
        theirs.lin.load_state_dict({"weight": own.project.weight, "bias": own.project.bias})
        theirs.alpha.data.copy_(own.alpha)
    net.predict.load_state_dict(model.net.predict.state_dict())
    return net.eval()


def make_app(model: TrainedModel, handler: str) -> FastAPI:
    """The service, with a handler of this kind: ``"async"`` or ``"def"``."""
    net, names, temperature = plain_network(model), model.task.names, model.temperature
    ((key, words),) = model.feature_spec["words"].items()  # type: ignore[index]
    column = {word: number for number, word in enumerate(words)}
    app = FastAPI()

    def to_data(graph: Graph) -> Data:
        number = {node["id"]: place for place, node in enumerate(graph.nodes)}
        labels = torch.tensor([column.get(node[key], -1) for node in graph.nodes])
        x = (labels[:, None] == torch.arange(len(words))).float()
        pairs = [(number[edge["source"]], number[edge["target"]]) for edge in graph.edges]
        ends = torch.tensor([*pairs, *((j, i) for i, j in pairs)], dtype=torch.long).reshape(-1, 2)
        return Data(x=x, edge_index=ends.T.contiguous())

    def answer(body: Body) -> dict[str, Any]:
        batch: Any = Batch.from_data_list([to_data(graph) for graph in body.graphs])
        with torch.no_grad():
            logits = net(batch.x, batch.edge_index, batch.batch)
        rows = torch.softmax(logits / temperature, 1).tolist()
        return {"predictions": [{"probabilities": dict(zip(names, row, strict=True))} for row in rows]}

    async def predict_in_the_loop(body: Body) -> dict[str, Any]:
        return answer(body)

    def predict_in_a_thread(body: Body) -> dict[str, Any]:
        return answer(body)

    app.post("/predict")(predict_in_the_loop if handler == "async" else predict_in_a_thread)
    return app


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--handler", choices=("async", "def"), default="async")
    options = parser.parse_args()
    torch.set_num_threads(1)
    uvicorn.run(make_app(Ensemble.load(options.run).first, options.handler), port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
