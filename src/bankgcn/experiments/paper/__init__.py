"""The paper's tables and its figure as data."""
