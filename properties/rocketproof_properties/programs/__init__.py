"""Programs: what clients, administrators and faults can ask of a deployment, as data.

Input: a seed, a profile, and the steps that a deployment supports.
Output: programs of steps (`vocabulary.py`), the requests that steps become (`requests.py`), and smaller programs (`shrink.py`).
Read first: `vocabulary.py` (steps), `values.py` (values of their arguments), then `pool.py`, the generator.
"""
