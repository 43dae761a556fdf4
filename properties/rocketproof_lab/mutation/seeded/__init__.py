"""Seeded mutants of the implementation: small changes written by hand, each with the rules or properties that must notice it.

The catalogue's table of mutants lists them with a sentence and the ids. The modules named in `registry` contain the changes of the source.
The implementation does not know this package.
"""
