"""The commands and programs in README and documents run, one after another, in a folder of their own.

pytest itself runs the examples with ``>>>``. Blocks of ``bash`` and other blocks of ``python`` are run here, with few
epochs. A service runs until the next one starts or the document ends, at a free port instead of the usual one. A
comment ``<!-- not run: REASON -->`` above a block leaves it out.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.nn.convs import RIVALS

ROOT = Path(__file__).parent.parent
GENERATED = {"docs/reproduction.md": "its commands repeat the experiments of the paper"}
QUICK = {"--epochs": "2", "--hidden": "16", "--layers": "2"}
BLOCK = re.compile(r"^(<!-- not run: .+? -->\n+)?```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USUAL_PORT = ":8000/"
INSTALLED = ("pip", "make")  # commands that prepare the environment, which is there already


class Block(NamedTuple):
    """A block of a document: its language, its text, and the line where it starts."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """The blocks that are run here."""
    return [
        Block(match[2], match[3], text[: match.start(3)].count("\n") + 1)
        for match in BLOCK.finditer(text)
        if not match[1] and not match[3].startswith(">>>")
    ]


def document(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


DOCUMENTS = [
    pytest.param(path, id=document(path))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if document(path) not in GENERATED and blocks_of(path.read_text(encoding="utf-8"))
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _double_precision: None) -> Path:
    """A folder with the files that the documents name."""
    torch.set_default_dtype(torch.float32)  # as for a user
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_table(Path("molecules.csv"), 1, 31)
    write_table(Path("other.csv"), 31, 34)
    Path("new.csv").write_text("id,smiles\nn1,CCCO\nn2,c1ccccc1CC\n")
    return tmp_path / "here"


def write_table(path: Path, start: int, end: int) -> None:
    """Molecules with targets of every kind."""
    rows = ["id,smiles,active,logp,charge,tox1,tox2,tox3"]
    for n in range(start, end):
        rows.append(f"a{n},{'C' * (n % 9 + 1)}O,no,{n / 8},{n % 3},{n % 2},{n % 3 % 2},")
        rows.append(f"b{n},C1{'C' * (n % 9 + 2)}1,yes,{n / 7},{n % 4},{(n + 1) % 2},,{n % 2}")
    path.write_text("\n".join(rows) + "\n")


class Service:
    """The service of a document, in a process of its own."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def start(self, words: list[str]) -> None:
        self.stop()
        command = [sys.executable, "-m", "bankgcn", *words, "--port", str(self.port)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:  # ends when the process does
            lines.append(line)
            if line.startswith("serving"):
                return
        pytest.fail("".join(lines))

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=30)
            self._process = None


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


def run_bash(text: str, where: str, service: Service) -> None:
    """Run the commands of a block; ours in this process, which saves the time to load PyTorch."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in INSTALLED:
            continue
        if words[:2] == ["bankgcn", "serve"]:
            service.start(words[1:])
        elif words[0] == "bankgcn" and not {"|", ">", "&&"} & set(words):
            result = CliRunner().invoke(app, quickly(words[1:]))
            assert result.exit_code == 0, f"{where}: {line}\n{result.output}"
        else:
            done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{where}: {line}\n{done.stdout}{done.stderr}"


def quickly(words: list[str]) -> list[str]:
    """The arguments of a command; a network is small and gets few epochs, unless the command names its own settings."""
    if words[0] != "train" or set(words) & set(RIVALS):
        return words
    return [*words, *(word for flag, value in QUICK.items() if flag not in words for word in (flag, value))]


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS)
def test_every_block_of_a_document_runs(path: Path, folder: Path, service: Service) -> None:
    for block in blocks_of(path.read_text(encoding="utf-8").replace(USUAL_PORT, f":{service.port}/")):
        where = f"{document(path)}:{block.line}"
        if block.language == "bash":
            run_bash(block.text, where, service)
        else:
            done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{where}\n{done.stderr}"


def test_blocks_are_found_and_left_out() -> None:
    run, left_out = "```bash\nls\n```\n", "<!-- not run: slow -->\n```bash\nrm\n```\n"
    doctest, program = "```python\n>>> 1\n1\n```\n", "```python\nx = 1\n```\n"
    assert blocks_of(run + left_out + doctest + program) == [Block("bash", "ls\n", 2), Block("python", "x = 1\n", 13)]


def test_readme_fetches_a_dataset_before_it_trains_on_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("bankgcn data fetch NCI1") < text.index("bankgcn train NCI1")


def test_readme_leads_from_a_table_to_predictions_with_ids(folder: Path, service: Service) -> None:
    first = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    assert len(first.text.splitlines()) == 3
    run_bash(first.text, "README.md", service)
    header, *rows = Path("predictions.csv").read_text().splitlines()
    assert header.startswith("id,")
    assert [row.split(",")[0] for row in rows] == ["n1", "n2"]


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_the_pages_that_come_first_stay_short(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= 120
