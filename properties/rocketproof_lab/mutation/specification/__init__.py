"""Generated mutants of the specification, and what notices each of them: a property, or the implementation."""
