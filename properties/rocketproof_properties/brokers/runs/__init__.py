"""Runs: programs of steps performed on a deployment, written down as events, and read back as one history."""
