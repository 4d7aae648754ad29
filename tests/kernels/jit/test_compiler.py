"""Kernels are compiled with or without a cache folder, and slow compilation is announced."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from numba.core import event

from bankgcn.kernels.jit import compiler
from bankgcn.kernels.jit.compiler import SlowCompilation, jit_cached


def compile_for(seconds: float, listener: SlowCompilation, module: str | None = "bankgcn.kernels.some") -> None:
    """Send the events of numba compiling a function of some module, which calls another one."""
    dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    start = event.Event("numba:compile", event.EventStatus.START, data={"dispatcher": dispatcher})
    end = event.Event("numba:compile", event.EventStatus.END, data={"dispatcher": dispatcher})
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
    expected = "compiling the CPU kernels for this machine (once; some seconds); BANKGCN_KERNELS=off avoids this"
    assert record.message == expected
    assert 0.02 <= record.created - started < 0.3


def test_short_compilations_are_announced_when_together_they_are_long(caplog: pytest.LogCaptureFixture) -> None:
    listener = SlowCompilation(0.1)
    compile_for(0.06, listener)
    assert not caplog.records
    compile_for(0.2, listener)
    assert len(caplog.records) == 1


def test_short_compilations_and_those_of_other_packages_are_not_announced(caplog: pytest.LogCaptureFixture) -> None:
    listener = SlowCompilation(0.05)
    compile_for(0, listener)
    compile_for(0.15, listener, module="somebody.else")
    compile_for(0.15, listener, module=None)
    assert not caplog.records


def test_numba_reports_what_it_compiles_and_not_what_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = []
    monkeypatch.setattr(SlowCompilation, "on_start", lambda self, event: reported.append(event.data["dispatcher"]))
    monkeypatch.setattr(SlowCompilation, "on_end", lambda self, event: None)
    twice = jit_cached(function_without_a_file())
    assert twice(2) == 4
    assert reported == [twice]
    assert twice(3) == 6
    assert reported == [twice]


def test_kernels_are_compiled_where_no_folder_is_writable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = SlowCompilation(0.02)
    monkeypatch.setattr(compiler, "_notice", listener)
    assert jit_cached(function_without_a_file())(2) == 4
    compile_for(0.1, listener)
    assert "in every process, because NUMBA_CACHE_DIR names no writable folder" in caplog.text


def function_without_a_file():
    """A function that numba cannot cache, as if no folder were writable."""
    scope: dict = {}
    exec("def twice(x):\n    return 2 * x", scope)
    return scope["twice"]
