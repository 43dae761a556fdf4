"""Witnesses of properties. Input: a witness of an engine or a witness file. Output: text, pictures, explanations, comparisons and files.
Read `show` first.

`itf` and `restore` handle files, `as_history` histories; `show` and `picture` display a witness, `explain` explains a state, `diff`
compares two witnesses; `graph` exports state graphs.
"""
