"""Brokers that programs run on. A deployment is one or more brokers with name servers, and states what it can do.

Input: a target as a user names it (`choose.py`): the implementation, a release of Apache RocketMQ, an address, or commands in a file.
Output: a running deployment (`deployment.py`), faults injected into it (`strace.py`, `crashstates.py`, `proxy.py`), and, for each
program that `runs/` performs on it, a recorded history.
Read first: `deployment.py`.
"""
