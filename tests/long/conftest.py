"""Fixtures for all tests of this folder."""

from remembered import nothing_remembered  # noqa: F401
