"""What was recorded of one broker, sent to another one, and the answers compared.

A recording of single requests (`recording.py`, on a simulated broker; `live.py`, on one that runs) and the history of a validated program
(`program.py`) differ in how they are read, and share the simulated broker, the comparison, and what is masked.
"""
