"""What all tests of this folder have."""

from remembered import nothing_remembered  # noqa: F401
