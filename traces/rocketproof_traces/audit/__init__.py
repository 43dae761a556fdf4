"""Audit a broker's store: check rules over its commit log, consume queues, index and configuration files.

Input: store folders and a plan (rules, settings). Output: `AuditTotals` per store with exact counts and findings. `run` cuts the logs into
ranges, `segment` audits one range, `merge` combines the results. Read `run` first.
"""
