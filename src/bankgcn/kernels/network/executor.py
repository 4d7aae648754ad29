r"""Runs a program: takes graphs through a whole network, forward, and backward if there is a loss.

Graphs do not see each other, so one block of small graphs goes through all layers, the readout, the loss and back
before the next one starts. Its workspace, a few hundred kilobytes, stays in the cache, and only the gradients of the
parameters are kept. Rows that nodes of a kind share (:mod:`~bankgcn.kernels.network.kinds`) are computed before the
blocks of a batch, and once more after them, with their gradients.

The chunks of a batch (:mod:`~bankgcn.kernels.network.collate`) have gradients of their own, which are added in order:
so the result is the same, bit for bit, on any number of threads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import call, jit_cached, jit_inner
from bankgcn.kernels.jit.threads import run_on_threads
from bankgcn.kernels.jit.vector import advance, pointer_to
from bankgcn.kernels.network.collate import Chunks, CollatedGraphs, block_end, divide
from bankgcn.kernels.network.kinds import Kinds, kinds_in_batches
from bankgcn.kernels.network.program import CACHE_LINE, MAX_BLOCK_NODES, BlockSize, LinkedProgram, Program, link
from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.parameters import Adam

Floats = NDArray[np.floating]


class Targets(NamedTuple):
    """What the network learns of G graphs, in the form that its loss takes; the other form has no rows."""

    classes: NDArray[np.int64]  # (G,)
    values: NDArray[np.float64]  # (G, outputs): NaN is unknown
    share: NDArray[np.float64]  # (G,): weight of each graph's loss; or (G, outputs): of each value's


def readouts(graphs: CollatedGraphs, program: Program, theta: Floats, *, threads: int = 1) -> Floats:
    """Readouts of all layers for each graph, side by side: shape ``(num_graphs, layers * readouts * hidden)``.

    Args:
        graphs: The graphs.
        program: The network, without a loss and without kinds.
        theta: Its parameters, one after another in torch's order.
        threads: Number of threads.
    """
    count = len(graphs.node_ptr) - 1
    call = _Call(graphs, np.array([0, count]), program, theta)
    out = np.empty((count, program.readout.columns or 0), program.dtype)
    _run(call.linked.prologue, call.table, call.work[0], call.parameters, call.gradients[0])

    def run(chunk: int, thread: int) -> None:
        call.run_chunk(chunk, thread, 0, out)

    call.allocate(threads)
    run_on_threads(run, range(len(call.chunks.graph_ptr) - 1), threads)
    return out[:, program.readout_columns]


def train(
    graphs: CollatedGraphs,
    batch_ptr: NDArray[np.int64],
    program: Program,
    theta: Floats,
    targets: Targets,
    gradient: Floats,
    adam: Adam | None = None,
    *,
    gamma: float = 0.0,
    dropout_keys: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> NDArray[np.float64]:
    r"""Take a step of Adam for each batch; return the loss of each batch before its step.

    Args:
        graphs: The graphs of all batches, one batch after another; with kinds, if the program uses them.
        batch_ptr: Start of each batch in the graphs, then their number: shape ``(batches + 1,)``.
        program: The network, with a loss.
        theta: Its parameters, one after another in torch's order; changed in place.
        targets: What it learns.
        gradient: Of the same length as ``theta``; afterwards it holds the gradient of the last step. Without Adam, the
            gradients of all batches are added to it instead.
        adam: State and settings of the optimiser; its arrays are changed in place. Without it no step is taken.
        gamma: Weight of :math:`\Omega` of each layer in the objective.
        dropout_keys: Random key of each batch.
        threads: Number of threads; the result does not depend on it.

    Raises:
        IndexError: A class is out of range, or the graphs lack features; nothing was changed.
    """
    _check_targets(targets, program, len(graphs.node_ptr) - 1)
    call = _Call(graphs, batch_ptr, program, theta, targets, gradient, adam, gamma)
    keys = np.zeros(len(batch_ptr) - 1, np.int64) if dropout_keys is None else dropout_keys
    if threads > 1 and len(call.chunks.graph_ptr) > 2:
        return call.train_on_threads(keys, threads)
    losses = np.zeros(len(batch_ptr) - 1)
    _train(
        call.linked[:6], call.table, call.kinds_table, graphs.node_ptr, batch_ptr, call.chunks.graph_ptr,
        call.chunks.batch_ptr, call.kinds.batch_ptr, keys, call.work[0], call.parameters, _gradients(2, program),
        call.loss, losses,
    )  # fmt: skip
    return losses


class _Call:
    """The memory of one call of the executor."""

    def __init__(
        self,
        graphs: CollatedGraphs,
        batch_ptr: NDArray[np.int64],
        program: Program,
        theta: Floats,
        targets: Targets | None = None,
        gradient: Floats | None = None,
        adam: Adam | None = None,
        gamma: float = 0.0,
    ):
        self.graphs, self.batch_ptr, self.program = graphs, batch_ptr, program
        _check_graph_features(graphs, program, required=targets is not None)
        self.chunks: Chunks = divide(graphs.node_ptr, graphs.rowptr, batch_ptr)
        size = BlockSize(self.chunks.nodes, self.chunks.graphs, self.chunks.edges, graphs.attributes.shape[1])
        self.linked: LinkedProgram = link(program, size, () if adam is None else adam.operations)
        self.parameters = _zeros(program.parameter_size, program.dtype)
        self.work: list[Floats] = [_zeros(self.linked.work_size, program.dtype)]
        self.gradients = np.zeros((1, 0), program.dtype)
        self.loss, self.gamma = np.zeros(1), np.array([float(gamma)])
        self.targets = targets or Targets(np.empty(0, np.int64), np.empty((0, 0)), np.empty(0))
        empty = np.empty(0, program.dtype)
        arrays = {
            entry.NODE_PTR: graphs.node_ptr,
            entry.ROWPTR: graphs.rowptr,
            entry.COL: graphs.col,
            entry.WEIGHT: graphs.weight,
            entry.ADJOINT_WEIGHT: graphs.adjoint_weight,
            entry.DIAGONAL: graphs.diagonal,
            entry.ATTRIBUTES: graphs.attributes,
            entry.LABELS: graphs.labels,
            entry.MULTIPLICITY: graphs.multiplicity,
            entry.EDGE_KIND: graphs.edge_kind,
            entry.EDGE_FEATURES: graphs.edge_features,
            entry.GRAPH_FEATURES: graphs.graph_features,
            entry.CLASSES: self.targets.classes,
            entry.TARGETS: self.targets.values,
            entry.SHARE: _share(self.targets),
            entry.LOSS: self.loss,
            entry.THETA: theta,
            entry.GRAD_THETA: empty if gradient is None else gradient,
            entry.PLACES: program.places,
            entry.COPIES: program.copies,
            entry.BASES: program.bases,
            entry.COLUMNS: program.column_numbers,
            entry.GAMMA: self.gamma,
        }
        if adam is not None:
            state = {entry.ADAM_MEAN: adam.mean, entry.ADAM_SQUARE: adam.square}
            rates = np.full(len(batch_ptr) - 1, adam.learning_rate, np.float64)
            arrays |= state | {entry.ADAM_SETTINGS: adam.settings, entry.ADAM_RATES: rates}
            arrays |= {} if adam.decays is None else {entry.ADAM_DECAYS: adam.decays}
        self.kinds, shared = _shared_rows(graphs, batch_ptr, program)
        arrays |= shared
        self.arrays = arrays  # operations have their addresses only: they must not be freed
        self.table = np.zeros(entry.SIZE, np.int64)
        for place, array in arrays.items():
            assert array.flags.c_contiguous
            self.table[place] = array.ctypes.data
        self.table[entry.NUM_ATTRIBUTES] = graphs.attributes.shape[1]
        self.table[entry.NUM_LABELS] = graphs.labels.shape[1]
        self.table[entry.NUM_EDGE_FEATURES] = graphs.edge_features.shape[1]
        self.table[entry.NUM_GRAPH_FEATURES] = graphs.graph_features.shape[1]
        self.table[entry.NUM_PARAMETERS] = program.num_parameters
        self.table[[entry.ADAM_STEP, entry.ADAM_FIRST]] = 0 if adam is None else adam.step
        self.table[entry.KIND_COLUMNS] = program.kind_columns
        # The gradient of a kind is the sum over its nodes already.
        self._once = np.ones(len(self.kinds.example), program.dtype)
        self.kinds_table = self.table.copy()
        self.kinds_table[entry.MULTIPLICITY] = self._once.ctypes.data

    def allocate(self, threads: int) -> None:
        """Allocate the workspace of each thread."""
        self.work += [_zeros(len(self.work[0]), self.program.dtype) for _ in range(threads - len(self.work))]

    def run_chunk(
        self, chunk: int, thread: int, batch: int, out: Floats, key: int = 0, gradient: Floats | None = None
    ) -> float:
        """Take the graphs of a chunk through the network; return the sum of their losses."""
        table, loss = self.table.copy(), np.zeros(1)
        table[entry.LOSS], table[entry.DROPOUT_KEY] = loss.ctypes.data, key
        begin, end = self.chunks.graph_ptr[chunk : chunk + 2]
        _run_chunk(
            self.linked.forward, self.linked.backward, table, self.graphs.node_ptr, begin, end, self.batch_ptr[batch],
            self.work[thread], self.parameters, self.gradients[0] if gradient is None else gradient,
            *self.linked.readout, out,
        )  # fmt: skip
        return float(loss[0])

    def train_on_threads(self, keys: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        """As :func:`_train`, with the chunks of each batch shared among threads."""
        self.allocate(threads)
        most = int(np.diff(self.chunks.batch_ptr).max())
        gradients = _gradients(most, self.program)
        nothing, losses = np.empty((0, 0), self.program.dtype), np.zeros(len(self.batch_ptr) - 1)
        for batch, (first, last) in enumerate(pairwise(self.chunks.batch_ptr.tolist())):
            _run(self.linked.prologue, self.table, self.work[0], self.parameters, gradients[0])
            gradients[0] = 0  # also if the batch has no graphs
            kinds = self.kinds_table, *self.kinds.batch_ptr[batch : batch + 2], self.work[0], self.parameters
            of_kinds, nothing_back = self.linked.kinds_forward, self.linked.kinds_backward[:0]
            _run_kinds(of_kinds, nothing_back, *kinds, gradients[0])
            parts = np.zeros(last - first)

            def run(chunk: int, thread: int, batch=batch, first=first, parts=parts) -> None:
                own = gradients[chunk - first]
                own[:] = 0
                parts[chunk - first] = self.run_chunk(chunk, thread, batch, nothing, int(keys[batch]), own)

            run_on_threads(run, range(first, last), threads)
            for number in range(1, last - first):
                gradients[0] += gradients[number]
            for part in parts:
                losses[batch] += part
            _run_kinds(of_kinds, self.linked.kinds_backward, *kinds, gradients[0])
            _run(self.linked.epilogue, self.table, self.work[0], self.parameters, gradients[0])
            self.table[entry.ADAM_STEP] += 1
        return losses


def _zeros(size: int, dtype: np.dtype) -> Floats:
    """Zeros whose address is a multiple of a cache line: the rows of padded matrices then start with a line."""
    array = np.zeros(size + CACHE_LINE // dtype.itemsize, dtype)
    first = -array.ctypes.data % CACHE_LINE // dtype.itemsize
    return array[first : first + size]


def _gradients(count: int, program: Program) -> Floats:
    """Gradients of the padded parameters, one row each."""
    return _zeros(count * program.gradient_size, program.dtype).reshape(count, program.gradient_size)


def _shared_rows(
    graphs: CollatedGraphs, batch_ptr: NDArray[np.int64], program: Program
) -> tuple[Kinds, dict[int, NDArray]]:
    """The kinds of each batch, and the arrays with which they and nodes exchange rows."""
    if not program.kinds_forward:
        return Kinds.none(len(batch_ptr) - 1), {}
    if len(graphs.kinds) != len(graphs.diagonal):
        raise IndexError(f"there are kinds of {len(graphs.kinds)} nodes, expected {len(graphs.diagonal)}")
    node_ptr = graphs.node_ptr[batch_ptr]
    kinds = kinds_in_batches(graphs.kinds, node_ptr)
    most_kinds, most_nodes = int(np.diff(kinds.batch_ptr).max(initial=0)), int(np.diff(node_ptr).max(initial=0))
    return kinds, {
        entry.KIND: kinds.kind,
        entry.KIND_EXAMPLE: kinds.example,
        entry.MEMBERS_PTR: kinds.members_ptr,
        entry.MEMBERS: kinds.members,
        entry.KIND_ROWS: _zeros(most_kinds * program.kind_columns, program.dtype),
        entry.NODE_GRADIENTS: _zeros(most_nodes * program.kind_columns, program.dtype),
    }


def _check_targets(targets: Targets, program: Program, graphs: int) -> None:
    classes, outputs = targets.classes, program.num_outputs
    if len(classes) and not 0 <= classes.min() <= classes.max() < outputs:
        raise IndexError(
            f"the classes of the graphs range from {classes.min()} to {classes.max()}, expected 0 to {outputs - 1}"
        )
    if len(targets.share) != graphs or (len(classes) != graphs and targets.values.shape != (graphs, outputs)):
        raise IndexError(f"there are targets of {len(targets.share)} graphs, expected {graphs} with {outputs} outputs")
    if targets.share.shape not in ((graphs,), targets.values.shape):
        raise IndexError(f"the weights have shape {targets.share.shape}, expected ({graphs},) or that of the values")


def _check_graph_features(graphs: CollatedGraphs, program: Program, required: bool) -> None:
    expected = (len(graphs.node_ptr) - 1, program.graph_features)
    columns = graphs.graph_features.shape[1]
    if (columns or (required and program.graph_features)) and graphs.graph_features.shape != expected:
        raise IndexError(f"the features of the graphs have shape {graphs.graph_features.shape}, expected {expected}")


def _share(targets: Targets) -> NDArray[np.float64]:
    """The weights as the losses take them: of classes, one for each graph; of values, one for each of them."""
    if not targets.values.size:
        return targets.share
    share = targets.share if targets.share.ndim == 2 else targets.share[:, None]
    return np.ascontiguousarray(np.broadcast_to(share, targets.values.shape))


@jit_inner
def _run_instructions(code, table, work, parameters, gradients):
    for row in range(code.shape[0]):
        operands = advance(pointer_to(code), row * code.shape[1] + 1)
        pointers = pointer_to(work), pointer_to(parameters), pointer_to(gradients)
        call(code[row, 0], operands, pointer_to(table), pointers[0], pointers[1], pointers[2])


@jit_cached
def _run(code, table, work, parameters, gradients):
    _run_instructions(code, table, work, parameters, gradients)


@jit_cached
def _run_kinds(forward, backward, table, begin, last, work, parameters, gradients):
    """Compute the rows of the kinds from ``begin`` to ``last``, which are those of a batch, block by block.

    ``backward`` is empty before the blocks of graphs: their gradients are not known yet.
    """
    first = begin
    while begin < last:
        end = min(begin + MAX_BLOCK_NODES, last)
        table[entry.FIRST_NODE], table[entry.ROWS], table[entry.BATCH_ROW] = begin, end - begin, begin - first
        _run_instructions(forward, table, work, parameters, gradients)
        _run_instructions(backward, table, work, parameters, gradients)
        begin = end


@jit_cached
def _run_chunk(
    forward, backward, table, node_ptr, begin, last, batch_begin, work, parameters, gradients, readout, stride, out
):
    """Take the graphs from ``begin`` to ``last`` through the network, block by block.

    Writes their readouts to ``out``, if it has rows; adds their losses and gradients, if there is a backward pass.
    """
    while begin < last:
        end = block_end(node_ptr, begin, last)
        table[entry.FIRST_NODE], table[entry.ROWS] = node_ptr[begin], node_ptr[end] - node_ptr[begin]
        table[entry.FIRST_GRAPH], table[entry.GRAPHS] = begin, end - begin
        table[entry.BATCH_ROW] = node_ptr[begin] - node_ptr[batch_begin]
        table[entry.BATCH_GRAPH] = begin - batch_begin
        _run_instructions(forward, table, work, parameters, gradients)
        _run_instructions(backward, table, work, parameters, gradients)
        if out.shape[0] > 0:
            for graph in range(begin, end):
                for k in range(out.shape[1]):
                    out[graph, k] = work[readout + (graph - begin) * stride + k]
        begin = end


@jit_cached
def _train(
    code, table, kinds_table, node_ptr, batch_ptr, graph_ptr, chunk_ptr, kind_ptr, keys, work, parameters, gradients,
    loss, losses,
):  # fmt: skip
    """Train on all batches on one thread; ``gradients`` has two rows, for all chunks of a batch and for the last.

    Loops instead of expressions with arrays, which take long to compile.
    """
    prologue, kinds_forward, kinds_backward, forward, backward, epilogue = code
    nothing, size = np.empty((0, 0), work.dtype), gradients.shape[1]
    for batch in range(batch_ptr.shape[0] - 1):
        _run_instructions(prologue, table, work, parameters, work)
        table[entry.DROPOUT_KEY] = keys[batch]
        first = chunk_ptr[batch]
        for k in range(size):  # also if the batch has no graphs
            gradients[0, k] = 0
        kinds = kind_ptr[batch], kind_ptr[batch + 1]
        _run_kinds(kinds_forward, kinds_backward[:0], kinds_table, *kinds, work, parameters, gradients[0])
        for chunk in range(first, chunk_ptr[batch + 1]):
            own = gradients[min(chunk - first, 1)]
            if chunk > first:
                for k in range(size):
                    own[k] = 0
            loss[0] = 0
            _run_chunk(
                forward, backward, table, node_ptr, graph_ptr[chunk], graph_ptr[chunk + 1], batch_ptr[batch], work,
                parameters, own, 0, 0, nothing,
            )  # fmt: skip
            if chunk > first:
                for k in range(size):
                    gradients[0, k] += own[k]
            losses[batch] += loss[0]
        _run_kinds(kinds_forward, kinds_backward, kinds_table, *kinds, work, parameters, gradients[0])
        _run_instructions(epilogue, table, work, parameters, gradients[0])
        table[entry.ADAM_STEP] += 1
