"""Promises: what RocketMQ's users rely on in every release. Input: the facts of a history. Output: verdicts without a profile. Read
`statements` first.

`promise` has the types, `statements` the promises by theme, and `broken` the known bugs by promise and release.
"""
