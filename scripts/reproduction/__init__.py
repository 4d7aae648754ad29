"""The page on the reproduction of the paper, written from records alone; ``reproduction_page.py`` is its script."""
