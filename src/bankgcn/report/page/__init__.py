"""Self-contained HTML pages of runs and of stores, with their figures as data."""
