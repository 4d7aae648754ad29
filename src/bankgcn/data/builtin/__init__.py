"""Sets of graphs that come with the package."""
