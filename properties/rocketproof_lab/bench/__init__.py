"""Benchmarks: the speed of each engine compared with other tools for the same work, on generated stores and histories."""
