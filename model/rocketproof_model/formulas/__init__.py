"""Models as formulas for z3: terms, and the transition relation."""
