"""Validation: does a broker behave as a profile describes?

Input: a target, a profile, a number of programs and a seed. Output: a report with findings, known violations and undecided results
(`report.py`), each finding with its smallest program.

`suite/` is the same run as a pytest suite, `releases/` compares releases, `faults/` injects faults under load, `knownbugs/` searches for
bugs of Apache releases.

Read first: `validate.py`.
"""
