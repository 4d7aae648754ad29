"""What operations know of a block of graphs: a table of 64-bit integers, numbers and addresses of arrays.

A block is a run of whole graphs. Arrays that have a row for each node or graph hold all graphs of a call of the
executor, so operations count from the block's first node or graph.

Rows of a matrix are filled with zeros to whole vectors, and a gap follows each. The gap keeps rows from competing for
the same places in the cache, and lets vectors reach beyond the last column.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.vector import REGISTER_BYTES

# Numbers of the block.
FIRST_NODE = 0  # of the block, among the nodes of the call
ROWS = 1  # number of nodes
FIRST_GRAPH = 2  # of the block, among the graphs of the call
GRAPHS = 3  # number of graphs
BATCH_ROW = 4  # number of the first node within its batch
BATCH_GRAPH = 5  # number of the first graph within its batch
DROPOUT_KEY = 6  # random key of the batch's step; 0: nothing is dropped
NUM_ATTRIBUTES = 7  # columns of the attributes
NUM_LABELS = 8  # columns of the labels

# Addresses; N nodes, E directed edges and G graphs of the call, P parameters.
NODE_PTR = 9  # int64 (G + 1,): start of each graph's nodes
ROWPTR = 10  # int64 (N + 1,): the operator of the convolutions in CSR form
COL = 11  # int64 (E,)
WEIGHT = 12  # float (E,)
ADJOINT_WEIGHT = 13  # float (E,): the same of the transposed operator
DIAGONAL = 14  # float (N,): what the operator takes of the node itself
ATTRIBUTES = 15  # float (N, attributes)
LABELS = 16  # int64 (N, labels): row of the first weight matrix that each label selects
MULTIPLICITY = 17  # float (N,): nodes that each one represents
CLASSES = 18  # int64 (G,)
TARGETS = 19  # double (G, outputs): NaN is unknown
SHARE = 20  # double (G,): weight of each graph's loss; of values and labels (G, outputs): of each target's
LOSS = 21  # double (1,): sum of the losses
THETA = 22  # float (P,): all parameters, in torch's order
GRAD_THETA = 23  # float (P,)
PLACES = 24  # int64 (P,): place of each parameter in the padded ones
COPIES = 25  # int64 (P,): place of a second, transposed copy; -1: none
BASES = 26  # float: for each filter bank (terms, degree + 1) Chebyshev coefficients of its basis polynomials
COLUMNS = 27  # int64: numbers of the columns in the results of a network, for its buffers
GAMMA = 28  # double (1,): weight of the mutual coherence
ADAM_MEAN = 29  # float (P,): state of the optimiser
ADAM_SQUARE = 30  # float (P,)
ADAM_SETTINGS = 31  # double (6,): see Adam.settings

# Further numbers of the call.
NUM_PARAMETERS = 32
ADAM_STEP = 33  # number of the next step, from 1
KIND_COLUMNS = 34  # values that nodes read of each kind

# Addresses of what nodes of a kind share; C kinds of all batches. See bankgcn.kernels.network.kinds.
KIND = 35  # int64 (N,): kind of each node, counted within its batch
KIND_EXAMPLE = 36  # int64 (C,): a node of each kind
MEMBERS_PTR = 37  # int64 (C + 1,): start of each kind's members
MEMBERS = 38  # int64 (N,): nodes of each kind, counted within their batch
KIND_ROWS = 39  # float (kinds of a batch, KIND_COLUMNS)
NODE_GRADIENTS = 40  # float (nodes of a batch, KIND_COLUMNS): gradients of what each node read

# Features of the edges; F different rows of them.
EDGE_KIND = 41  # int64 (E,): row of the features of each edge
EDGE_FEATURES = 42  # float (F, edge features)
NUM_EDGE_FEATURES = 43  # columns of the features

# Features of the graphs.
GRAPH_FEATURES = 44  # float (G, graph features)
NUM_GRAPH_FEATURES = 45  # columns of the features

# Further state of the optimiser.
ADAM_RATES = 46  # double (batches,): learning rate of each step of the call
ADAM_FIRST = 47  # number of the first step of the call, from 1
ADAM_DECAYS = 48  # float (P,): 1 for each parameter that decays by itself, else 0

SIZE = 49


GAP_BYTES = 192  # an odd number of cache lines, and as much as a vector may reach beyond the last column
TILE_ROWS = 4  # of a matrix product: with two registers for each row, enough to keep the processor busy


def round_up(count: int, multiple: int) -> int:
    """The smallest multiple that is not less than ``count``."""
    return (count + multiple - 1) // multiple * multiple


def padded_width(columns: int, dtype: np.dtype, registers: int = 4) -> int:
    """Number of columns, filled to whole vectors of so many registers."""
    return round_up(columns, registers * REGISTER_BYTES // np.dtype(dtype).itemsize)


def row_stride(columns: int, dtype: np.dtype) -> int:
    """Number of columns with padding and gap: the distance of two rows."""
    return padded_width(columns, dtype) + GAP_BYTES // np.dtype(dtype).itemsize
