"""The steps of a network on the rows of a few graphs, forward and backward."""
