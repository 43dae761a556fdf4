"""Witnesses of the model performed on brokers over the wire: which actions are possible from outside, and whether the broker agrees."""
