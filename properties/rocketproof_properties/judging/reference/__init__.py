"""The reference implementation as a judge: replay what one broker was sent on another broker, and compare the responses.

A recording of single requests (`driver.py` for any deployment, `recording.py` for a simulated one) and the history of a validated program
(`program.py`) are read differently. They share the requests, the simulated deployment, the comparison and the masking.
"""
