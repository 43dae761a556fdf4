"""Hand-written programs: a file of steps in, a table of responses with verdicts out, for one target or for all releases of a range.

`programfile` reads the file, `trial` performs and judges it on a target, `answers` is what a client saw, `condition` says whether a trial
shows the problem, and `releases` performs a program on releases. Read `programfile.py` first.
"""
