"""Hand-written programs: a file of steps in, a table of responses with verdicts out, for one target or for all releases of a range.

`programfile` reads the file, `trial` performs and judges it on a target, `answers` has the responses, `condition` decides whether a trial
shows the problem, `releases` performs a program on releases, and `show` prints results. Read `programfile.py` first.
"""
