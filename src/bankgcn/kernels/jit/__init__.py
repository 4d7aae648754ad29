"""How functions are compiled, when compiled code is used, and vectors for it."""
