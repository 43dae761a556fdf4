"""Proofs by z3 over all states: induction, invariants found by machine, Spacer, and certificates that others can check."""
