"""`rocketproof mcp`: tools for an agent. Input: a tool's name and arguments. Output: a typed answer that fits a context window.

`answers.py` has the types, `tools.py` the functions, `bounded.py` the bound of an answer, and `allowed.py` what the tools may access.
`worker.py` runs one tool in a process of its own, and `server.py` speaks the Model Context Protocol. Read first: `answers.py`.
"""
