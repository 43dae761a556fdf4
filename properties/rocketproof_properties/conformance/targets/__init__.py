"""Targets of the specification's scopes: parts of the implementation on which its actions are done and whose state is read as its own."""
