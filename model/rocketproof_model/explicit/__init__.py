"""The parts of the explicit engines: packed states, compiled kernels, the search's loops, graphs and lassos."""
