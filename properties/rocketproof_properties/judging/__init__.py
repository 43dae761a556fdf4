"""Judging: a recorded history in, verdicts out.

Input: the history of one program, or of all programs on a broker, with a profile.
Output: findings of three judges: the specification, the claims of the catalogue, and the reference implementation (`reference/`).
Read first: `judging.py`. It shows the stages `exchanges`, `specification`, `claims`, `reference` and `verdicts`, in modules of these names.

`wholelog`, `storefiles` and `restarts` judge what all programs left on a broker, and `shared` the topics that programs share. `onefile`
judges one file by the specification alone, `manyhistories` many files. `show`, `results` and `documents` present their verdicts.
"""
