"""Lab: tools that measure the project itself. They are not in the wheel.

Input: the sources, tests and benchmarks of a clone.
Output: mutants that nothing notices (`mutation/`), rules without code or a passed test (`requirements/`), and the speed of the engines
(`bench/`).
Read first: `mutation/mutant.py`.
"""
