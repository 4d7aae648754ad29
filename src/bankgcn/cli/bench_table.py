"""What ``bankgcn bench`` prints. Every line fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:  # needs PyG
    from bankgcn.bench import CaseResult, Protocol

LEGEND = """\
ours, PyG: median time of one epoch, on one thread
ratio: time of PyG / time of ours
times its products: time of ours / time of the model's matrix products alone"""


def introduction(protocol: Protocol) -> str:
    """What the figures mean, and what a quick look leaves out."""
    if not protocol.quick:
        return f"{LEGEND}\n"
    quick = (
        f"A quick look (steps in an epoch: at most {protocol.max_steps}; timed turns: {protocol.repetitions}).\n"
        "The figures are rough. Run the command without --quick to quote them."
    )
    return f"{quick}\n{LEGEND}\n"


def case_title(result: CaseResult, protocol: Protocol) -> str:
    """Name of the case, and what was timed."""
    steps = "1 training step" if result.steps == 1 else f"{result.steps} training steps"
    what = "one training epoch" if protocol.max_steps is None else f"an epoch of {steps}"
    return f"{result.name}: {what}{', a quick look' if protocol.quick else ''}"


def case_table(result: CaseResult, protocol: Protocol) -> Table:
    """Ours beside PyG, one row for each model."""
    from bankgcn.bench.ours import our_name
    from bankgcn.bench.peers import peer_name

    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    columns = ["ours", "PyG", "ratio", "times its\nproducts"]
    if protocol.memory:
        columns += ["memory of\na step: ours", "PyG"]
    for column in columns:
        table.add_column(column, justify="right")
    for model in result.models:
        row = result.figures(model)
        cells = [_time(row["ours_s"]), _time(row["pyg_s"]), f"{row['ratio']:.2f}", f"{row['gemm_ratio']:.2f}"]
        if protocol.memory:
            cells += [_memory(result.peak_bytes.get(name(model))) for name in (our_name, peer_name)]
        table.add_row(model, *cells)
    return table


def thread_lines(comparison: Mapping[str, Any] | None) -> Iterator[str]:
    """A line for each model that was trained on several threads."""
    if comparison is None:
        return
    for model, row in comparison["models"].items():
        yield (
            f"{model}: {_time(row['one_s'])} on 1 thread, {_time(row['many_s'])} on {comparison['threads']}, "
            f"speed-up {row['ratio']:.2f}, same result: {str(row['same_result']).lower()}"
        )


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def _memory(peak: int | None) -> str:
    return "" if peak is None else f"{peak / 2**20:.1f} MiB"
