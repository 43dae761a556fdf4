"""The command `mutate --specification`: generated mutants of the specification, and what notices each of them."""
