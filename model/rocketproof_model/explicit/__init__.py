"""What the explicit engines are made of: packed states, compiled kernels, the search's loops, graphs and lassos."""
