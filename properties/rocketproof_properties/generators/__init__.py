"""Generators: programs of steps, drawn from a seed by what a condition is about."""
