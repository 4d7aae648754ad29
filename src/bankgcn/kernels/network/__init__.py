"""Small graphs through a whole network and back, in compiled code."""
