"""The reference implementation as a judge: replay what one broker was sent on another broker, and compare the responses.

`findings.py` judges the history of a program (`program.py` replays it). A recording of single requests is replayed by `driver.py` on any
deployment and by `recording.py` on a simulated one. They share the requests, the simulated deployment, the comparison and the masking.
"""
