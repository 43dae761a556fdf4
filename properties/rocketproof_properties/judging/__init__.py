"""Judging: one recorded program by the specification, by the claims of the catalogue and by the reference implementation."""
