"""Seeded mutants of the implementation: small changes that a test run switches on, to check that the tests notice them.

`table` of the catalogue lists the mutants and the rules or properties that must notice them. The modules named in `registry` contain the
changes of the source. `patch` applies such a change to a running process, and `trials` tries all mutants. The implementation does not know
this package.
"""
