"""The list of commands, which needs no PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from bankgcn.cli import PROGRAM, app
from bankgcn.cli.commands import COMMANDS, PAPER, Group, Row, load_command

Command = Callable[..., tuple[int, str, str]]

LARGE = ("torch", "torch_geometric", "numba", "numpy", "matplotlib", "sklearn", "rdkit", "ray")
HELP = [[*command, option] for command in ([name] for name in COMMANDS) for option in ("--help", "-h")]
HELP += [["data", name, "--help"] for name in ("list", "describe", "fetch")]
HELP += [["paper", name, "--help"] for name in PAPER]
HELP += [[name, "--help-all"] for name in ("train", "tune", "compare")]


@pytest.mark.parametrize(("name", "row"), [*COMMANDS.items(), *PAPER.items()])
def test_the_summary_is_the_first_line_of_the_help(name: str, row: Row | Group) -> None:
    assert load_command(row, name).help.splitlines()[0] == row.summary


def test_the_help_lists_all_commands_and_fits_80_columns_and_narrower(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (80, 60, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        for option in ("--help", "-h"):
            code, out, _ = command(option)
            assert code == 0
            assert max(map(len, out.splitlines())) <= width
            assert all(f" {name} " in out for name in COMMANDS)
    for name in ("train", "predict", "data", "paper"):
        assert command(name, "-h") == command(name, "--help")


def test_a_wrong_command_names_the_one_that_was_meant(command: Command) -> None:
    code, _, err = command("trian")
    assert code == 2
    assert "train" in err


@pytest.mark.parametrize("name", PAPER)
def test_a_command_of_the_paper_says_where_it_is_now(command: Command, name: str) -> None:
    for words in ((), ("--help",), ("table1", "--store", "results")):
        assert command(name, *words) == (2, "", f"error: 'bankgcn {name}' is now 'bankgcn paper {name}'\n")


def test_a_wrong_command_of_the_paper_names_the_one_that_was_meant(command: Command) -> None:
    code, _, err = command("paper", "tabel")
    assert code == 2
    assert "'bankgcn paper -h'" in err
    assert "Did you mean 'table'?" in err


def test_the_help_of_the_paper_lists_its_commands(command: Command) -> None:
    for words in (("paper", "--help"), ("paper",)):
        _, out, err = command(*words)
        assert all(f"\n  {name} " in out + err for name in PAPER)


@pytest.mark.parametrize("name", ["train", "tune", "compare"])
def test_settings_that_few_people_change_are_on_a_second_page(command: Command, name: str) -> None:
    first, all_of_them = command(name, "--help")[1], command(name, "--help-all")[1]
    for option in ("--normalize", "--norm", "--basis", "--projection", "--initial-alpha", "--coherence"):
        assert f"\n  {option} " not in first
        assert f"\n  {option} " in all_of_them
    for option in ("--target", "--hidden", "--epochs", "--help-all"):
        assert f"\n  {option} " in first
        assert f"\n  {option} " in all_of_them
    assert first.endswith(f"{name} --help-all\n")
    assert "--help-all\n" not in all_of_them


def run_each(calls: list[list[str]], width: int = 80) -> tuple[list[list[str]], str]:
    """Call ``bankgcn`` several times in one process: the large libraries that are loaded after each, and the output."""
    code = (
        "import json, sys; from bankgcn.cli import app\n"
        "for call in json.loads(sys.argv[1]):\n"
        "    try: app(call)\n"
        "    except SystemExit: pass\n"
        f"    print(json.dumps([name for name in {LARGE} if name in sys.modules]), file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, json.dumps(calls)]
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONUTF8": "1"}
    result = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=True, env=environment)
    return [json.loads(line) for line in result.stderr.splitlines()], result.stdout


def test_help_and_version_load_no_large_library() -> None:
    loaded, _ = run_each([["--help"], ["-h"], ["--version"], ["paper", "--help"]])
    assert loaded == [[], [], [], []]


def test_the_help_of_a_command_loads_no_pytorch() -> None:
    loaded, _ = run_each(HELP)
    assert {call[0] for call, names in zip(HELP, loaded, strict=True) if set(names) - {"numpy"}} == set()


@pytest.mark.parametrize("width", [80, 60])
def test_the_help_of_a_command_fits_the_terminal(width: int) -> None:
    _, out = run_each(HELP, width)
    assert out.count("Usage: ") == len(HELP)
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out  # nothing is cut off


def test_all_help_has_one_style(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, commands = run_each(HELP)
    for text in (command("--help")[1], command("data", "--help")[1], command("paper", "--help")[1], commands):
        assert text.startswith("Usage: ")
        assert not set(text) & set("│╭╰─"), "no boxes"
        assert "\nOptions:\n" in text
    assert "[default: " not in commands
    assert "x>=" not in commands
    assert "(default: 1; at least 1)" in " ".join(commands.split())
    code, _, err = command("train", "--nonsense")
    assert (code, err.splitlines()[-1]) == (2, "Error: No such option: --nonsense")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("--lr", "--learning-rate"), ("--wd", "--weight-decay"), ("--learning_rate", "--learning-rate")],
)
def test_an_unknown_option_names_the_one_that_was_meant(command: Command, typed: str, meant: str) -> None:
    code, _, err = command("train", typed, "0.1")
    assert code == 2
    assert f"No such option: {typed} (Possible options: {meant})" in err


@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        ("bash", {"COMP_WORDS": "bankgcn {}", "COMP_CWORD": "{place}"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "bankgcn {}"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "bankgcn {}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_commands_and_their_options(shell: str, variables: dict[str, str]) -> None:
    def own(line: str) -> dict[str, str]:
        place = str(len(line.split()))
        asked = {name: value.format(line, place=place) for name, value in variables.items()}
        return {**asked, "_BANKGCN_COMPLETE": f"complete_{shell}"}

    words = [sys.executable, "-m", "bankgcn"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **own("expl")})
    assert "explain" in done.stdout
    for line, found in (
        ("data desc", "describe"),
        ("paper repr", "reproduce"),
        ("train --learn", "--learning-rate"),
    ):
        result = CliRunner().invoke(app, env=own(line), prog_name=PROGRAM)  # without another process
        assert (result.exit_code, found in result.stdout) == (0, True)


def test_completion_can_be_installed_and_shown(command: Command) -> None:
    assert all(option in command("--help")[1] for option in ("--install-completion", "--show-completion"))
