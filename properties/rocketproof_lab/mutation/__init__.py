"""Mutation: small changes of the implementation or of the specification, and what notices each of them.

Input: the sources of a clone. Three packages make mutants: `seeded` (patches written by hand), `generated` (changes of the implementation's
source) and `specification` (changes of the models).
Output: one report (`results`, `report`). `runner` tries mutants by a trial: the tests (`by_tests`), a validation over the wire
(`generated/by_wire`), or searches of the models (`specification/by_models`).
Read first: `mutant.py`, then `runner.py`.
"""
