"""``bankgcn serve``: what it refuses before it listens."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from serve_runs import save_run, training_graphs

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path) -> Path:
    return save_run(folder / "run", training_graphs())


def test_an_open_address_without_a_token_is_refused(command: Command, run: Path) -> None:
    code, _, err = command("serve", run, "--host", "0.0.0.0")
    assert code == 1
    assert "error: --host 0.0.0.0 lets other machines in: give a token (--token-file FILE, or $BANKGCN_TOKEN)" in err
    assert "--allow-anyone" in err


def test_a_token_cannot_be_given_on_the_command_line(command: Command, run: Path, folder: Path) -> None:
    assert command("serve", run, "--token", "0123456789abcdef")[0] == 2
    (folder / "token").write_text("short")
    code, _, err = command("serve", run, "--token-file", folder / "token")
    assert code == 1
    assert "must have at least 16 printable ASCII characters" in err


def test_a_used_port_and_a_missing_model_are_reported(command: Command, run: Path, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, _, err = command("serve", run, "--port", port)
    assert code == 1
    assert f"error: cannot listen at 127.0.0.1, port {port}: Address already in use; choose another --port" in err
    assert command("serve", folder / "nothing")[0] == 1


def test_a_missing_library_is_reported_first(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = command("serve", "nothing")
    assert code == 1
    assert err == "error: bankgcn serve needs uvicorn: pip install 'bankgcn[serve]'\n"
