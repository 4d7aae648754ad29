"""``bankgcn document``: a page on the reproduction of the paper, with its pictures, from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bankgcn.cli.output import VERIFIED, check_not_input, say
from bankgcn.cli.stored import read_records
from bankgcn.extras import require
from bankgcn.files.atomic import atomic_write


def write_page(
    folder: Annotated[Path, typer.Argument(help="Packed folder or store of records.", metavar="STORE")],
    out: Annotated[Path, typer.Option(help="Markdown file; its pictures go to the folder 'figures' beside it.")],
    search_runs: Annotated[
        int, typer.Option(help="Number of seeds that choose hyper-parameters, as for 'bankgcn reproduce'.", min=1)
    ] = 5,
) -> None:
    """Write a page on what reproduces, with tables and pictures, from the records in the folder; nothing is run.

    The page says what is not run yet. Run the command again when there are more records.
    """
    require("matplotlib", "bankgcn document")
    from bankgcn.experiments.verify import read_verification
    from bankgcn.report.document import FOLDER, write_document

    check_not_input(out, store=folder)
    records = read_records(folder)
    verified = folder / VERIFIED
    document = write_document(records, search_runs, read_verification(verified) if verified.exists() else None)
    files = {out: document.text.encode()}
    files |= {out.parent / FOLDER / name: content for name, content in document.pictures.items()}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    say(f"{len(records):,} records; written to {out} with {len(document.pictures)} pictures")
