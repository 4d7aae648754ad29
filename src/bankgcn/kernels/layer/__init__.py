"""One layer applied to all graphs of a batch, or to one large graph: filter bank, activation, PyTorch operators."""
