"""What a node carries: signals, how they were made, and how other graphs get the same columns."""
