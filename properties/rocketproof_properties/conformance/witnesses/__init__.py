"""Witnesses of the model performed on brokers over the wire: what can be brought about from outside, and whether the broker follows."""
