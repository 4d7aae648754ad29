"""Turn exceptions into messages and exit codes."""

from __future__ import annotations

import os
import shlex
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperGroup

from bankgcn.messages import Option, Spelling, spelled, spelled_error

FAILED, WRONG_COMMAND, INTERRUPTED = 1, 2, 130
_RUNNING: ContextVar[Any] = ContextVar("_RUNNING", default=None)  # the command whose flags messages name


class ReportingGroup(TyperGroup):
    """Commands that report errors by a sentence instead of a traceback."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, and its arguments."""
        resolved = super().resolve_command(ctx, args)
        _RUNNING.set(resolved[1])
        return resolved

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        before = _RUNNING.set(None)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print_error("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of the output, such as head, has closed it
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            print_error(f"error: {where}{error.strerror or error}")
            raise typer.Exit(FAILED) from error
        except RuntimeError as error:
            if not str(error).startswith("Symlink loop"):  # Path.resolve has no error of its own for them
                raise
            print_error(f"error: {str(error).removeprefix('Symlink loop from ')}: the symbolic link leads to itself")
            raise typer.Exit(FAILED) from error
        except (ValueError, ImportError) as error:
            print_error(f"error: {with_flags(error)}")
            raise typer.Exit(FAILED) from error
        finally:
            _RUNNING.reset(before)


def print_error(message: str) -> None:
    """Print a line to standard error: an error, or a note on what was typed."""
    if os.environ.get("RANK", "0") != "0":
        return  # of the processes of torchrun, only the first prints
    from bankgcn.cli.output import say  # --help does not need it

    say(message, stderr=True)


def print_note(message: str) -> None:
    """Print a note on what was read or done to standard error; options in it are flags."""
    from bankgcn.cli.output import say  # --help does not need it

    say(f"note: {with_flags(message)}", stderr=True)


def print_warning(message: str) -> None:
    """Print a warning to standard error; options in it are flags."""
    from bankgcn.cli.output import say

    say(f"warning: {with_flags(message)}", stderr=True)


def with_flags(message: str | Exception) -> str:
    """A message or an error as the command line spells it: with flags, and without advice on flags that there are not.

    Args:
        message: A message of the library, or any text. The flags are those of the command that runs.
    """
    command = _RUNNING.get()
    flags = None if command is None else _options(command)
    spelling = Spelling(flag, has=lambda name: flags is None or f"--{name.replace('_', '-')}" in flags)
    return spelled_error(message, spelling) if isinstance(message, Exception) else spelled(message, spelling)


def flag(option: Option) -> str:
    """An option as a user types it.

    Example:
        >>> flag(Option("skip_missing", True)), flag(Option("missing_words", "n.d. x")), flag(Option("target", "NAME"))
        ('--skip-missing', "--missing-words 'n.d. x'", '--target NAME')
    """
    name = option.name.replace("_", "-")
    if isinstance(option.value, bool):
        return f"--{name}" if option.value else f"--no-{name}"
    return f"--{name}" if option.alone else f"--{name} {shlex.quote(str(option.value))}"


def _options(command: Any) -> set[str]:
    """The options that a command lists, or all commands in a group."""
    names = {name for row in command.params if not getattr(row, "hidden", False) for name in row.opts}
    return names.union(*(_options(inner) for inner in getattr(command, "commands", {}).values()))
