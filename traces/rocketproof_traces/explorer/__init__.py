"""The explorer: a browser page for walking through a trace or a history, as one file or served on this machine.

Input: a witness or a judged history. Output: a document, an HTML page, or a running server. Read `document` first.
"""
