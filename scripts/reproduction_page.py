"""Write the page on the reproduction of the paper, with its pictures, from records alone; nothing is run.

    python scripts/reproduction_page.py results --out docs/reproduction.md

The page says what is not run yet. Run the script again when there are more records.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bankgcn.cli.designs import read_records
from bankgcn.cli.output import VERIFIED, check_not_input, say
from bankgcn.experiments.verify import read_verification
from bankgcn.extras import require
from bankgcn.files.checked import atomic_write
from reproduction.evidence import SEARCH_RUNS
from reproduction.markdown import FOLDER
from reproduction.page import write_document


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, and write the page; an error is one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, help="packed folder or store of records")
    help_out = f"Markdown file; its pictures go to the folder '{FOLDER}' beside it"
    parser.add_argument("--out", type=Path, required=True, metavar="PAGE", help=help_out)
    help_runs = "number of seeds that choose hyper-parameters, as for 'bankgcn paper reproduce' (default: %(default)s)"
    parser.add_argument("--search-runs", type=int, default=SEARCH_RUNS, help=help_runs)
    options = parser.parse_args(arguments)
    try:
        say(write_page(options.store, options.out, options.search_runs))
    except (ImportError, OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error


def write_page(store: Path, out: Path, search_runs: int) -> str:
    """Write the page and its pictures; the sentence that it returns says what was written."""
    require("matplotlib", "the page on the reproduction")
    if search_runs < 1:
        raise ValueError(f"--search-runs {search_runs}: expected at least 1")
    check_not_input(out, store=store)
    records = read_records(store)
    verified = store / VERIFIED
    document = write_document(records, search_runs, read_verification(verified) if verified.exists() else None)
    files = {out: document.text.encode()}
    files |= {out.parent / FOLDER / name: content for name, content in document.pictures.items()}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    return f"{len(records):,} records; written to {out} with {len(document.pictures)} pictures"


if __name__ == "__main__":
    main()
