"""One-place changes of the specification, each with the property that notices it."""
