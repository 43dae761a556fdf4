"""Models made from models: mutants, slices, and the same model over wider numbers."""
