"""What was recorded of one broker, sent to another one, and the answers compared.

A recording of single requests (`driver.py` on any deployment, `recording.py` on a simulated one) and the history of a validated program
(`program.py`) differ in how they are read, and share the requests, the simulated deployment, the comparison, and what is masked.
"""
