"""Lab: the project measured by itself; not in the wheel.

Input: the sources, the tests and the benchmarks of a clone.
Output: which seeded, generated and specification mutants go unnoticed (`seeded/`, `generated/`, `specification/`), which rules lack
code or a passed test (`requirements/`), and how fast the engines are (`bench/`).
Read first: `seeded/patch.py`.
"""
