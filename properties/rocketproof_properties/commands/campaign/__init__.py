"""Very many programs on simulated clusters, in shards that any process or machine can perform, and what they found put together.

A program is known by its part (an instance of the specification, or a condition of programs of messages) and its number: both and the
seed give the program, wherever it runs.
"""
