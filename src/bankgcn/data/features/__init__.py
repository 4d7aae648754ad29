"""Node features: how they are made, and how other graphs get the same columns."""
