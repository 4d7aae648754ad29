"""Operations are compiled once for each type, on first use, and loaded from disk by other processes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.ccallback import CFunc

from bankgcn.kernels.jit import compiler
from bankgcn.kernels.jit.compiler import Operation, SlowCompilation, operation, unpack
from bankgcn.kernels.jit.vector import pointer_to
from bankgcn.kernels.network.executor import _run
from kernel_package import run_module, write_package

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def make_operation() -> Operation:
    """An operation that writes a sum of its operands to the workspace, and copies a parameter to the gradients."""

    @operation("x: buffer, factor, w: slot,", in_place=("x",))
    def example(instruction, table, work, parameters, gradients):
        (x, stride, width, factor, w, w_stride) = unpack(instruction, 6)
        work[0] = table[0] + 2 * table[1] + x + 10 * stride + 100 * width + 1000 * factor
        gradients[w_stride] = parameters[w]

    return example


def execute(operation: Operation, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    code, table = np.array([[operation.address(dtype), 1, 2, 3, 4, 5, 6]]), np.array([7, 8])
    work, parameters, gradients = np.zeros(2, dtype), np.arange(10).astype(dtype), np.zeros(10, dtype)
    _run(code, table, work, parameters, gradients)
    return work, gradients


def test_operands_have_names_and_kinds() -> None:
    example = make_operation()
    assert example.name == "example"
    assert example.operands == {"x": "buffer", "factor": "number", "w": "slot"}
    assert example.in_place == ("x",)
    assert operation("")(lambda *pointers: None).operands == {}


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_an_operation_gets_its_operands_and_all_memory(dtype: np.dtype) -> None:
    work, gradients = execute(make_operation(), dtype)
    assert work.tolist() == [7 + 16 + 1 + 20 + 300 + 4000, 0]
    assert gradients.tolist() == [0] * 6 + [5] + [0] * 3


def test_each_type_is_compiled_when_it_is_first_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(CFunc, "compile", lambda self: (compiled.append(self._sig.args[2].dtype.name), original(self)))
    example = make_operation()
    assert compiled == []
    addresses = [example.address(dtype) for dtype in (SINGLE, SINGLE, DOUBLE, SINGLE, DOUBLE)]
    assert compiled == ["float32", "float64"]
    assert addresses == [addresses[0], addresses[0], addresses[2], addresses[0], addresses[2]]
    assert addresses[0] != addresses[2]


original = CFunc.compile

OPERATIONS = """
from bankgcn.kernels.jit.compiler import operation

def add(number):
    @operation("")
    def add(instruction, table, work, parameters, gradients):
        work[0] += number
    return add

if __name__ == "__main__":
    import json
    import numpy as np
    from ctypes import CFUNCTYPE, c_void_p
    from bankgcn.kernels.operations import add

    out = []
    for number in (1, 2):
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            one, work = add(number), np.zeros(1, dtype)
            CFUNCTYPE(None, *[c_void_p] * 5)(one.address(dtype))(0, 0, work.ctypes.data, 0, 0)
            out.append((float(work[0]), one._compiled[dtype].cache_hits))
    print(json.dumps(out))
"""


@pytest.mark.slow
def test_a_second_process_loads_each_operation_and_type_from_disk(tmp_path: Path) -> None:
    kernels = write_package(tmp_path, {"operations.py": OPERATIONS})
    found = [json.loads(run_module(tmp_path, "bankgcn.kernels.operations")) for _ in range(2)]
    # Two operations of one function, which differ by a constant, are two operations.
    assert found == [[[1, 0], [1, 0], [2, 0], [2, 0]], [[1, 1], [1, 1], [2, 1], [2, 1]]]
    assert len(list(kernels.glob("__pycache__/*.nbc"))) == 4


def test_a_slow_compilation_is_announced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def compile_slowly(compiled: Any) -> None:
        time.sleep(0.2)
        original(compiled)

    def ours(instruction, table, work, parameters, gradients):
        work[0] = 1

    ours.__module__ = "bankgcn.kernels.some"  # messages are about kernels of the library
    monkeypatch.setattr(compiler, "cached_on_disk", lambda compiled, function: None)
    monkeypatch.setattr(CFunc, "compile", compile_slowly)
    # The library's own listener adds up what every test before this one compiled, and may log in this one.
    monkeypatch.setattr(compiler._notice, "_logged", True)
    listener = SlowCompilation(0.05)
    with event.install_listener("numba:compile", listener):
        Operation(ours, "").address(DOUBLE)
    (record,) = caplog.records
    assert "compiling the CPU kernels for this machine (once;" in record.message


@numba.njit
def unpack_so_many(numbers, count):
    return unpack(pointer_to(numbers), count)


def test_the_number_of_operands_is_a_constant() -> None:
    with pytest.raises(numba.TypingError, match="unpack"):
        unpack_so_many(np.arange(3), 2)
