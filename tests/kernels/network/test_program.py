"""Two buffers that are needed at once never share memory, and the workspace holds all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from bankgcn.kernels.network.program import (
    BlockSize,
    Buffer,
    Instruction,
    LinkedProgram,
    NumColumns,
    Program,
    Slot,
    link,
    stride_of,
    width_of,
)
from bankgcn.kernels.ops.blocks import TILE_ROWS, round_up
from bankgcn.nn import PLAIN_CONVS, GraphNetwork
from bankgcn.nn.lowering import lower

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "layer norm": {"norm": "layer", "normalize": "after"},
    "graph norm": {"norm": "graph", "residual": True},
    "no norm": {"normalize": "none", "readout": ("mean", "max", "sum")},
    "feed forward": {"feed_forward": 2, "residual": True, "norm": "layer"},
    "all options": {"feed_forward": 1, "dropout": 0.3, "head": "mlp", "residual": True, "norm": "graph"},
}
# In the first two, buffers of different shapes have the same size: two rows for each of 32 graphs and one for each of
# 64 nodes; 192 columns for each of 64 graphs and 32 columns for each of 192 nodes.
SIZES = [BlockSize(64, 32, 512, 5), BlockSize(192, 64, 1024, 5), BlockSize(50, 20, 300, 5), BlockSize(3, 1, 9, 5)]


class Place(NamedTuple):
    """Memory of a buffer, and the instructions that use it first and last."""

    begin: int
    end: int
    first: int
    last: int


def program_of(conv: str, options: str, loss: str | None) -> Program:
    torch.manual_seed(0)
    net = GraphNetwork(5, 2, hidden_channels=32, num_layers=3, conv=conv, **OPTIONS[options])
    program = lower(net.float(), loss)
    assert program is not None
    return program


def linked_instructions(program: Program, linked: LinkedProgram) -> Iterator[tuple[Instruction, list[int]]]:
    """The instructions in the order in which they run, with the numbers that the executor takes."""
    names = ("prologue", "forward", "backward", "epilogue")
    for name in names:
        for instruction, row in zip(getattr(program, name), getattr(linked, name), strict=True):
            yield instruction, row.tolist()


def columns_of(buffer: Buffer, size: BlockSize) -> int:
    return size.attributes if buffer.columns is None else buffer.columns


def rows_of(buffer: Buffer, size: BlockSize) -> int:
    """Rows that operations write: matrix products write whole tiles."""
    counts = {"node": round_up(size.nodes, TILE_ROWS), "graph": round_up(size.graphs, TILE_ROWS), "edge": size.edges}
    return buffer.rows * counts.get(buffer.space, 1)


def places_of(program: Program, linked: LinkedProgram, size: BlockSize) -> dict[Buffer, Place]:
    """Where the instructions find each buffer; checks that all agree."""
    places: dict[Buffer, Place] = {}
    instructions = list(linked_instructions(program, linked))
    for number, (instruction, row) in enumerate(instructions):
        rest = row[1:]
        for name, kind in instruction.operation.operands.items():
            value, length = instruction.operands[name], {"buffer": 3, "slot": 2}.get(kind, 1)
            numbers, rest = rest[:length], rest[length:]
            if isinstance(value, Buffer):
                offset, stride, width = numbers
                columns = columns_of(value, size)
                assert stride == stride_of(columns, value.padding, program.dtype)
                assert width == width_of(columns, value.padding, program.dtype)
                before = places.get(value, Place(offset, offset + rows_of(value, size) * stride, number, number))
                assert before.begin == offset
                places[value] = before._replace(last=number)
    last = places[program.readout]
    places[program.readout] = last._replace(last=len(instructions))  # the executor reads it
    return places


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("loss", [None, "cross_entropy"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_buffers_that_are_needed_at_once_have_memory_of_their_own(
    conv: str, options: str, loss: str | None, size: BlockSize
) -> None:
    program = program_of(conv, options, loss)
    linked = link(program, size)
    instructions = [instruction for instruction, _ in linked_instructions(program, linked)]
    places = places_of(program, linked, size)
    for (a, one), (b, other) in combinations(sorted(places.items(), key=lambda item: item[1].first), 2):
        apart_in_memory = one.end <= other.begin or other.end <= one.begin
        if apart_in_memory or one.last < other.first:
            continue
        # The second one is written by the instruction that uses the first for the last time.
        assert one.last == other.first, (instructions[other.first].operation.name, one, other)
        operation, operands = instructions[other.first]
        assert operands["out"] is b
        assert {name for name, value in operands.items() if value is a} <= set(operation.in_place)
        assert (one.begin, one.end) == (other.begin, other.end)
    assert max(place.end for place in places.values()) <= linked.work_size
    assert linked.readout[0] == places[program.readout].begin


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_most_buffers_of_an_evaluation_share_memory(conv: str) -> None:
    program = program_of(conv, "plain", None)
    size = SIZES[0]
    linked = link(program, size)
    places = places_of(program, linked, size)
    assert linked.work_size < 0.7 * sum(place.end - place.begin for place in places.values())


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_instructions_hold_address_slots_and_numbers(conv: str) -> None:
    program, size = program_of(conv, "all options", "cross_entropy"), SIZES[0]
    for instruction, row in linked_instructions(program, link(program, size)):
        assert row[0] == instruction.operation.address(program.dtype)
        rest = row[1:]
        for name, kind in instruction.operation.operands.items():
            value, length = instruction.operands[name], {"buffer": 3, "slot": 2}.get(kind, 1)
            numbers, rest = rest[:length], rest[length:]
            if value is None:
                assert numbers == [-1, 0, 0]
            elif isinstance(value, Slot):
                assert numbers == [value.offset, value.stride]
                assert 0 <= value.offset <= program.parameter_size - value.rows * value.stride
            elif isinstance(value, NumColumns):
                assert numbers == [columns_of(value.buffer, size)]
            elif not isinstance(value, Buffer):
                assert numbers == [int(value)]
        assert not any(rest)


def test_blocks_of_similar_size_share_the_result() -> None:
    program = program_of("bank", "plain", None)
    assert link(program, BlockSize(60, 20, 500, 5)) is link(program, BlockSize(50, 32, 400, 5))
    assert link(program, BlockSize(65, 20, 500, 5)) is not link(program, BlockSize(50, 20, 500, 5))
    small, large = (link(program, BlockSize(nodes, 20, 500, 5)).work_size for nodes in (64, 6400))
    assert 10 * small < large
    assert np.dtype(np.float32).itemsize * small < 2**20  # a block stays in the cache
