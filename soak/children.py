"""Child processes to kill: forks of this one, which has loaded the libraries already."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"}


def start(work: Callable[[], None], log: Path, kill_before: int | None = None, within: Path | None = None) -> int:
    """Fork a process that does the work and ends; its output is appended to a file.

    Args:
        work: What it does.
        log: The file.
        kill_before: It kills itself before its file operation of this number, counted from 1.
        within: Only operations on files of this folder count.

    Returns:
        The number of the process.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if kill_before is not None:
            _kill_before(kill_before, str(within))
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(child: int) -> int:
    """Wait for the end of a process. Its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill(child: int) -> None:
    """Kill a process that may have ended."""
    os.kill(child, signal.SIGKILL)  # it stays a zombie until it is waited for, so its number is still its own


def count_operations(work: Callable[[], None], within: Path) -> int:
    """Do the work in this process. The number of its file operations in a folder."""
    seen = [0]
    counting = [True]

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        if counting[0] and _concerns(event, arguments, str(within)):
            seen[0] += 1

    sys.addaudithook(count)
    work()
    counting[0] = False
    return seen[0]


def _kill_before(number: int, within: str) -> None:
    seen = [0]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _concerns(event, arguments, within):
            seen[0] += 1
            if seen[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _concerns(event: str, arguments: tuple[Any, ...], within: str) -> bool:
    if event not in FILE_EVENTS or not arguments:
        return False
    path = arguments[0]
    return isinstance(path, str | os.PathLike) and os.path.realpath(path).startswith(within)
