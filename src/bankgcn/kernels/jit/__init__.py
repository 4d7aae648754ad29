"""How kernels are compiled, when they are used, and the vector type that they compute with."""
