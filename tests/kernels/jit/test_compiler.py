"""Passes are compiled with or without a place to keep them, and whoever waits long is told what for."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from numba.core import event

from bankgcn.kernels.jit import compiler
from bankgcn.kernels.jit.compiler import SlowCompilation, compiled


def compile_for(seconds: float, listener: SlowCompilation, module: str | None = "bankgcn.kernels.some") -> None:
    """What numba tells while it compiles a function, which calls another, of some module."""
    pass_ = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    start = event.Event("numba:compile", event.EventStatus.START, data={"dispatcher": pass_})
    end = event.Event("numba:compile", event.EventStatus.END, data={"dispatcher": pass_})
    listener.on_start(start)
    listener.on_start(start)
    listener.on_end(end)
    time.sleep(seconds)
    listener.on_end(end)


def test_a_long_compilation_is_announced_once_and_while_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    listener = SlowCompilation(0.02)
    started = time.time()
    compile_for(0.3, listener)
    compile_for(0.05, listener)
    (record,) = caplog.records
    assert record.name == "bankgcn"
    expected = (
        "compiling the fused passes for this machine, once, up to half a minute; BANKGCN_KERNELS=off does without"
    )
    assert record.message == expected
    assert 0.02 <= record.created - started < 0.3


def test_short_compilations_are_announced_when_together_they_are_long(caplog: pytest.LogCaptureFixture) -> None:
    listener = SlowCompilation(0.1)
    compile_for(0.06, listener)
    assert not caplog.records
    compile_for(0.2, listener)
    assert len(caplog.records) == 1


def test_nothing_is_said_of_short_compilations_nor_of_others(caplog: pytest.LogCaptureFixture) -> None:
    listener = SlowCompilation(0.05)
    compile_for(0, listener)
    compile_for(0.15, listener, module="somebody.else")
    compile_for(0.15, listener, module=None)
    assert not caplog.records


def test_numba_tells_of_what_it_compiles_and_not_of_what_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(SlowCompilation, "on_start", lambda self, event: told.append(event.data["dispatcher"]))
    monkeypatch.setattr(SlowCompilation, "on_end", lambda self, event: None)
    twice = compiled(function_without_a_file())
    assert twice(2) == 4
    assert told == [twice]
    assert twice(3) == 6
    assert told == [twice]


def test_passes_are_compiled_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = SlowCompilation(0.02)
    monkeypatch.setattr(compiler, "_word", listener)
    assert compiled(function_without_a_file())(2) == 4
    compile_for(0.1, listener)
    assert "each time: NUMBA_CACHE_DIR names no folder to keep them in" in caplog.text


def function_without_a_file():
    """A function that numba cannot keep, as if no folder could be written."""
    scope: dict = {}
    exec("def twice(x):\n    return 2 * x", scope)
    return scope["twice"]
