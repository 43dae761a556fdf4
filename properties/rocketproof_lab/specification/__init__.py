"""The command `mutate --specification`: mutants of the specification by machine, and what notices each."""
