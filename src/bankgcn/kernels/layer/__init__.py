"""Compiled passes for one layer: the filter bank, the activation with readout, and one large graph."""
