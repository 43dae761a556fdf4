"""Validation of a broker: targets, programs that run on them, and what came of it."""
