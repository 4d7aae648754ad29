"""What MkDocs does beside its own: the list of commands, and files of the repository that pages link to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from command_reference import command_reference  # noqa: E402

MARKER = "<!-- commands -->"
OUTSIDE = [
    *("CHANGELOG.md", "SECURITY.md", "compose.yaml", "Dockerfile"),
    *(f"examples/{path.name}" for path in sorted((ROOT / "examples").glob("*.[pi]*"))),
]
"""Files outside ``docs/`` that pages link to; in the site they lie beside the pages."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the repository that pages link to."""
    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write the commands into their page, and point links to where the site has the files."""
    markdown = markdown.replace(MARKER, command_reference()) if MARKER in markdown else markdown
    if page.file.src_uri in OUTSIDE:
        return markdown.replace("](docs/", "](")
    for name in OUTSIDE:
        markdown = markdown.replace(f"](../{name})", f"]({name})")
    return markdown
