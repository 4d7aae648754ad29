"""One module for each format that graphs are read from, and the registry of their readers.

A new reader is a module with a :class:`~bankgcn.data.readers.reader.Reader`, and a line of :data:`READERS`.
"""

from __future__ import annotations

from bankgcn.data.readers import benchmark_sets, graph_files, images, json_graphs, molecule_tables, reader, tu
from bankgcn.data.readers.reader import Reader

READERS: dict[str, Reader] = {
    "saved": reader.SAVED,
    "tu": tu.READER,
    "edges": graph_files.EDGE_TABLES,
    "smiles": molecule_tables.SMILES_TABLE,
    "smi": molecule_tables.SMILES_FILE,
    "sdf": molecule_tables.SD_FILE,
    "jsonlines": json_graphs.JSON_LINES,
    "json": json_graphs.JSON_FILES,
    "graphml": graph_files.GRAPH_FILES,
    "images": images.READER,
    "molhiv": benchmark_sets.MOLHIV,
    "cifar10": benchmark_sets.CIFAR10,
}
"""Readers by name. The first one that recognises a path reads it."""
