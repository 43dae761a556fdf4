"""The checker of histories: is there an order of steps of the specification that explains what was answered, and if not, what is the first
event that none explains, and why?

`parts` divides a history, `part` puts one part before the specification, `placed` one whose records may lie elsewhere than asked for
(`ways`), `shape` cuts the specification to it, `machine` runs it, `requests` are what clients ask, `search` finds an order of their steps,
`near` which of them an answer needs, `refusals` explains why there is none, `left_out` what is not judged, `ends` which ends of queues go
back; `histories` puts the verdict together.
"""
