"""Run many programs on simulated clusters, in shards that any process or machine can run, and merge their findings.

A program is identified by its part and its number. A part is an instance of the specification, or a condition of programs of messages.
Part, number and seed determine the program on every machine.
"""
