"""Mutants of the implementation: small changes that are switched on for a test run, to see whether the tests notice.

`table` says which mutants there are and which rules or properties have to notice them, the modules named in `registry`
say what each changes in the implementation, `patch` makes such a change in a running process, and `trials` tries them all.
Nothing of this is known to the implementation.
"""
