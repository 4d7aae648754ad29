"""One module for each format that graphs are read from, and the registry of their readers.

A new reader is a module with a :class:`~bankgcn.data.readers.reader.Reader`, and a line of :data:`READERS`.
"""

from __future__ import annotations

from bankgcn.data.readers import (
    cifar10,
    edge_table,
    graph_files,
    images,
    json_files,
    jsonlines,
    molhiv,
    saved,
    sd_file,
    smiles_file,
    smiles_table,
    tu,
)
from bankgcn.data.readers.reader import Reader

READERS: dict[str, Reader] = {
    "saved": saved.READER,
    "tu": tu.READER,
    "edges": edge_table.READER,
    "smiles": smiles_table.READER,
    "smi": smiles_file.READER,
    "sdf": sd_file.READER,
    "jsonlines": jsonlines.READER,
    "json": json_files.READER,
    "graphml": graph_files.READER,
    "images": images.READER,
    "molhiv": molhiv.READER,
    "cifar10": cifar10.READER,
}
"""Readers by name. The first one that recognises a path reads it."""
