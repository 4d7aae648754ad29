"""Cora and CiteSeer, papers that cite each other, and the layers that the examples compare on them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.io import read_planetoid_data

from bankgcn import BankConv
from bankgcn.nn.gcn_conv import GCNConv

MODELS = ("BankConv, low-pass start", "GCN", "BankConv, random start")


def load_citations(name: str) -> Data:
    """The graph with the public split; ``x`` says which words a paper has."""
    folder = Path(os.environ.get("BANKGCN_DATA", "data")) / "planetoid"
    if not (folder / f"ind.{name}.x").exists():
        raise SystemExit(
            f"{folder} has no file ind.{name}.x: put the eight files ind.{name}.* of Planetoid there, or set "
            "BANKGCN_DATA to the folder that holds planetoid/"
        )
    warnings.filterwarnings("ignore", message="Sparse")  # PyTorch, about the sparse matrices of the words
    return read_planetoid_data(str(folder), name)


def make_layer(model: str, in_channels: int, out_channels: int, subspaces: int) -> nn.Module:
    """A layer by the name of its model."""
    if model == "GCN":
        return GCNConv(in_channels, out_channels)
    start = "lowpass" if model == "BankConv, low-pass start" else "xavier"
    return BankConv(in_channels, out_channels, num_subspaces=subspaces, initial_alpha=start)


def drop_entries(words: Tensor, dropout: float) -> Tensor:
    """A sparse matrix with some of its entries set to 0 and the others scaled up."""
    kept = F.dropout(words.values(), dropout)
    return torch.sparse_csr_tensor(words.crow_indices(), words.col_indices(), kept, words.shape)
