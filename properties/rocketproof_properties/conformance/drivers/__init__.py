"""Targets of the specification's scopes: parts of the implementation that perform its actions, and whose state is read as a model state."""
