"""Catalogue: the claims about RocketMQ by theme, with the expected verdict of each claim per profile.

Input: a model instance (`source.py`), a history (`history.py`), or the rows of a store.
Output: properties of the specification, rules over rows, and claims about histories. A theme's file has all forms of its properties.
`table.py` lists them. `rules.toml` states every rule of the described behaviour in one sentence.
Read first: `claim.py`, then a theme such as `topics.py`.
"""
