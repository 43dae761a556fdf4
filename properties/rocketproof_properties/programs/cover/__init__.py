"""The cover: programs that together take every transition of the specification's small scopes that requests can cause.

`statespace` explores a scope's states as far as requests from outside lead. `paths` covers the transitions with paths of bounded length.
`sending` and `smallmodels` map the actions of each scope to steps, and `scopes` lists them. Read `statespace` first. `programs.coverplan`
makes programs of the paths.
"""
