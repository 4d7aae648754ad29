"""The commands that repeat the experiments of the document."""

from __future__ import annotations

from collections.abc import Iterator

from bankgcn.experiments.paper.settings import BEST
from bankgcn.experiments.paper.tables import TABLES
from bankgcn.report.document.evidence import PROTOCOLS, Part, settings_of

TEXT = """\
```bash
# Run what is missing in results/.
{runs}
bankgcn reproduce figure3 --datasets NCI109 --known results

# Add the new records to results/, here those of Table 1; write this page; run some of the records again.
bankgcn pack table1 --setting best --out results
bankgcn document results --out docs/reproduction.md
bankgcn verify results --sample 20

# A table with all p-values.
bankgcn table table1 --setting best --search-runs {search_runs} --store results
```

`--setting best` runs l2 before and after the ReLU, and so contains the runs of `--setting as-paper`, the default."""


def commands(search_runs: int) -> str:
    """The commands, with the options of each table.

    Args:
        search_runs: Number of seeds that choose hyper-parameters.
    """
    lines = [f"bankgcn reproduce {name} {words} --known results" for name, words in reproduce_options(search_runs)]
    return TEXT.format(runs="\n".join(lines), search_runs=search_runs)


def reproduce_options(search_runs: int) -> Iterator[tuple[str, str]]:
    """The name of each table with the options of ``bankgcn reproduce``, once for each part that is run by itself."""
    for name in TABLES:
        protocol = PROTOCOLS[name]
        words = [f"--setting {BEST.name}"] if BEST in settings_of(name) else []
        words += [f"--search-runs {search_runs}"] if protocol.searches else []
        for option, values in protocol.values.items():
            words.append(f"--{option.replace('_', '-')} {','.join(f'{value:g}' for value in values)}")
        for part in protocol.parts or (None,):
            yield name, " ".join([*_restriction(part), *words])


def _restriction(part: Part | None) -> list[str]:
    if part is None:
        return []
    rows = [f"--models {','.join(part.rows)}"] if part.rows else []
    epochs = [f"--epochs {part.max_epochs}"] if part.max_epochs else []
    return [f"--datasets {','.join(part.columns)}", *rows, f"--runs {part.runs}", *epochs]
