"""Text from files on a terminal: escape sequences are shown, not obeyed."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bankgcn.cli
from bankgcn.cli import output
from bankgcn.cli.output import printable, say

Command = Callable[..., tuple[int, str, str]]

EVIL = "evil\x1b[2J\x1b]0;title\x07\u202e\r\x9b31m"
SHOWN = r"evil\x1b[2J\x1b]0;title\x07\u202e\r\x9b31m"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_control_characters_become_escapes() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("a\nb\tc\u00e4\U0001f9ea") == "a\\nb\tc\u00e4\U0001f9ea"
    assert printable("a\nb", lines=True) == "a\nb"


@given(st.text(st.characters()))
def test_whatever_is_printed_holds_no_control_character(text: str) -> None:
    shown = printable(text)
    assert not CONTROL.search(shown)
    assert "\n" not in shown
    shown.encode()


def test_a_message_with_half_a_character_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    say("file\udcff.csv [bold]not markup[/bold]")
    assert capsys.readouterr().out == "file\\udcff.csv [bold]not markup[/bold]\n"


def test_one_module_prints() -> None:
    """Others would print text from files as it is."""
    for file in Path(bankgcn.cli.__file__).parent.glob("*.py"):
        if file.name == "output.py":
            continue
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        names = {ast.unparse(call) for call in calls}
        allowed = {"typer.echo"} if file.name in ("__init__.py", "commands.py") else set()  # the version, the help
        assert names & {"typer.echo", "typer.secho", "print", "Text"} <= allowed, file.name


def test_names_of_classes_are_escaped_by_every_command(command: Command, folder: Path) -> None:
    ring = {"nodes": [{"id": n, "x": n / 3} for n in range(3)], "edges": [{"source": 0, "target": 1}]}
    graphs = [{**ring, "target": [EVIL, "b"][number % 2]} for number in range(40)]
    (folder / "own.jsonl").write_text("".join(json.dumps(graph) + "\n" for graph in graphs))
    for words in (
        ("data", "describe", "own.jsonl"),
        ("train", "own.jsonl", "--epochs", 2, "--hidden", 8, "--layers", 1, "--out", "run"),
        ("evaluate", "run", "own.jsonl"),
        ("export", "run", "--onnx", "model.onnx"),
        ("predict", "run", "own.jsonl"),
    ):
        code, out, err = command(*words)
        assert code == 0, err
        assert not CONTROL.search(out + err), words
        if words[0] != "predict":
            assert r"evil\x1b[2J" in out + err, words
    assert EVIL.encode() in (folder / "predictions.csv").read_bytes()  # data stay data


def test_a_table_on_a_terminal_is_escaped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(output.typer, "get_binary_stream", lambda _: Terminal())
    with output.open_output(Path("-")) as file:
        file.write(f"class\n{EVIL}\n".encode())
    assert capsys.readouterr().out == f"class\n{SHOWN}\n"
