"""A program that uses an exported model with NumPy and ONNX Runtime alone."""

from __future__ import annotations

import json

CONSUMER = """\
import json
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession({path})
about = session.get_modelmeta().custom_metadata_map
x = np.zeros((3, len(json.loads(about["columns"]))), np.float32)  # three nodes
edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])  # each edge in both directions
inputs = {{"x": x, "edge_index": edges, "batch": np.zeros(3, np.int64)}}
{weights}print(json.loads(about["names"]), session.run(None, inputs)[0])
"""


WEIGHTS = """\
inputs["edge_weight"] = np.ones(1, np.float32)  # for all edges; or one for each
"""


def consumer(path: str, weighted: bool = True) -> str:
    """The program for the exported model in this file.

    Args:
        path: The file.
        weighted: Whether the model has an input for the weights of edges.
    """
    return CONSUMER.format(path=json.dumps(path), weights=WEIGHTS if weighted else "")
