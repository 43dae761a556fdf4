"""Judging: a recorded history in, verdicts out.

Input: the history of one program, or of all programs on a broker, with a profile.
Output: findings of three judges: the specification, the claims of the catalogue, and the reference implementation (`reference/`).
Read first: `judging.py`.
"""
