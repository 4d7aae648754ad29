"""One module for each format that graphs are read from."""
