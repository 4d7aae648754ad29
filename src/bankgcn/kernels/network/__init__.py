"""Takes small graphs through all layers of a network and back, block by block."""
