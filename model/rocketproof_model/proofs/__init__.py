"""Proofs by z3 over all states: induction, generated invariants, Spacer, and certificates that other tools can check."""
