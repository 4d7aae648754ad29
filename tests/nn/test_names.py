"""The names of choices are those of the tables that hold what they stand for."""

from __future__ import annotations

from bankgcn.nn import names
from bankgcn.nn.activation import ACTIVATIONS, NORMS
from bankgcn.nn.bank_conv import INITIAL_ALPHA
from bankgcn.nn.network import REDUCTIONS
from bankgcn.nn.readout import POOLINGS, READOUT_PARTS
from bankgcn.spectral.basis import BASES


def test_names_are_the_keys_of_the_tables_in_their_order() -> None:
    assert tuple(ACTIVATIONS) == names.ACTIVATION_NAMES
    assert tuple(NORMS) == names.NORM_NAMES
    assert tuple(POOLINGS) == names.POOLING_NAMES
    assert tuple(REDUCTIONS) == names.REDUCTION_NAMES
    assert tuple(INITIAL_ALPHA) == names.INITIAL_ALPHA_NAMES
    assert tuple(BASES) == names.BASIS_NAMES
    assert tuple(READOUT_PARTS) == names.READOUT_PART_NAMES
