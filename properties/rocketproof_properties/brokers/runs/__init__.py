"""Runs: programs of steps performed on a deployment, recorded as events, and parsed into one history."""
