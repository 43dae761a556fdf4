"""Helpers shared by all packages of traces: errors, outcomes, refusals, files, and pools of threads or processes. Read `outcomes` first."""
