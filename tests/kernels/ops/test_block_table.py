"""Each entry of the table has a place of its own."""

from __future__ import annotations

from bankgcn.kernels.ops import blocks

OTHERS = ("SIZE", "GAP_BYTES", "TILE_ROWS", "REGISTER_BYTES")


def test_entries_fill_the_table_and_none_has_the_place_of_another() -> None:
    entries = {name: value for name, value in vars(blocks).items() if name.isupper() and name not in OTHERS}
    assert sorted(entries.values()) == list(range(blocks.SIZE))
