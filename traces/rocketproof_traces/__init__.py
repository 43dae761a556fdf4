"""Recorded and simulated runs: their formats, what judges them by a model, and the same for many of them on Spark."""
