"""The checker of histories: is there an order of steps of the specification that explains what was answered, and if not, what is the first
event that none explains, and why?

`parts` divides a history, `part` puts one part before the specification, `machine` is the specification as it is run there, `requests`
are what clients ask, `search` finds an order of their steps, `refusals` says why there is none, `histories` puts the verdict together.
"""
