"""How far single precision can move a result: measured in double precision, by errors of that size in each operation.

Every operation of torch that rounds gets inputs and a result with random errors, as large as those of rounding to
float32 (Monte Carlo arithmetic). The spread of several such runs is the condition of the example. It is a property of
the mathematics: it does not depend on how a processor rounds, nor on the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

UNIT = 2.0**-24  # the largest relative error of rounding to float32
RUNS = 8  # an error that decides everything is small by chance in one of them, not in all

ROUNDED = {
    "_log_softmax", "_log_softmax_backward_data", "add", "addmm", "binary_cross_entropy_with_logits", "div", "exp",
    "index_add", "index_put", "leaky_relu", "leaky_relu_backward", "linalg_vector_norm", "mm", "mul",
    "native_layer_norm", "native_layer_norm_backward", "pow", "rsqrt", "scatter_add", "sigmoid", "sqrt", "sub", "sum",
}  # fmt: skip
"""The operations that round. All others only move, choose, compare or negate numbers."""


@dataclass(frozen=True)
class Rounding:
    """What rounding to single precision does to some results.

    Args:
        moved: Largest change of each result, as a part of its largest element, or of 1 if that is less.
        margin: Distance to the nearest kink (of a ReLU, an absolute value, a maximum), in units of the change there.
    """

    moved: Mapping[str, float]
    margin: float


class Rounded(TorchDispatchMode):
    """Adds errors to float64 operations, and keeps the distance of each input of a kink from it.

    Args:
        seed: Seed of the errors; ``None`` for none.
    """

    def __init__(self, seed: int | None = None):
        super().__init__()
        self.random = None if seed is None else torch.Generator().manual_seed(seed)
        self.kinks: list[tuple[Tensor, Tensor | None]] = []  # inputs, and their graph if they compete for its maximum

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run one operation."""
        name, in_place = name_of(func)
        if name in ("relu", "leaky_relu", "abs"):
            self.kinks.append((args[0].detach(), None))
        elif name == "scatter_reduce" and not in_place:
            self.kinks.append((args[3].detach(), args[2][:, 0]))
        if self.random is None or name not in ROUNDED:
            return func(*args, **(kwargs or {}))
        given = (args[0] if in_place else self.disturbed(args[0]), *map(self.disturbed, args[1:]))
        result = func(*given, **(kwargs or {}))
        if name in ("mm", "addmm"):
            result = result + self.errors(result.shape) * size_of_errors(*args[-2:])
        if isinstance(result, tuple):
            return tuple(map(self.disturbed, result))
        return result.copy_(self.disturbed(result)) if in_place else self.disturbed(result)

    def errors(self, shape: torch.Size) -> Tensor:
        """Relative errors of one rounding."""
        return torch.rand(shape, generator=self.random, dtype=torch.float64).mul_(2 * UNIT).sub_(UNIT)

    def disturbed(self, value: Any) -> Any:
        """The value with errors, if it is a tensor of real numbers."""
        if not isinstance(value, Tensor) or value.dtype != torch.float64:
            return value
        return value.addcmul(value, self.errors(value.shape))


@cache
def name_of(func: Any) -> tuple[str, bool]:
    """The name of an operation, and whether it works in place."""
    name = func._schema.name.removeprefix("aten::")
    return name.removesuffix("_"), name.endswith("_")


def size_of_errors(left: Tensor, right: Tensor) -> Tensor:
    """How much the rounding of each addition changes a matrix product, in units.

    A sum of n terms errs by about the root of n times the sum of their absolute values (Higham and Mary, 2019).
    """
    return math.sqrt(left.size(1)) * (left.abs() @ right.abs())


def measure(results: Callable[[], Mapping[str, Tensor]]) -> Rounding:
    """Measure what rounding does to the results of a function that computes in double precision."""
    with Rounded() as exact:
        expected = results()
    moved, changes = dict.fromkeys(expected, 0.0), [torch.zeros_like(x) for x, _ in exact.kinks]
    for seed in range(RUNS):
        with Rounded(seed) as rounded:
            found = results()
        for name, value in expected.items():
            moved[name] = max(moved[name], distance(found[name], value))
        for change, (x, _), (y, _) in zip(changes, exact.kinks, rounded.kinks, strict=True):
            torch.maximum(change, (y - x).abs(), out=change)
    margins = [margin(*kink, change) for kink, change in zip(exact.kinks, changes, strict=True)]
    return Rounding(moved, min(margins, default=math.inf))


def distance(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a part of the largest element, or of 1 if that is less."""
    if not expected.numel():
        return 0.0
    return ((found.double() - expected.double()).abs().max() / max(1, expected.abs().max().double())).item()


def margin(x: Tensor, graph: Tensor | None, change: Tensor) -> float:
    """The least distance to a kink, in units of the change of its inputs."""
    if not x.numel():
        return math.inf
    if graph is not None:
        x, change = gaps(x, graph, change)
    return torch.where(change > 0, x.abs() / change, math.inf).min().item()


def gaps(x: Tensor, graph: Tensor, change: Tensor) -> tuple[Tensor, Tensor]:
    """How far the largest value of each graph is from the next one, and the changes there.

    Values that are equal in double precision are those of nodes that are alike: their gradients are equal, too.
    """
    index, shape = graph.unsqueeze(-1).expand_as(x), (int(graph.max()) + 1, x.size(1))
    largest = x.new_full(shape, -math.inf).scatter_reduce(0, index, x, "amax")[graph]
    alike = largest - x <= 1e-9 * largest.abs().clamp(min=1)
    most = change.new_zeros(shape).scatter_reduce(0, index, change, "amax")[graph]
    return torch.where(alike, math.inf, largest - x), most
