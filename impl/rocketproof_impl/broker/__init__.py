"""The broker: topic table, request processors, registration."""
