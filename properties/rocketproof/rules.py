"""Declare your own rules over stored records, queues and entries, for `rocketproof audit --rules` and `rocketproof judge --rules`.

from rocketproof import implies
from rocketproof.rules import rule

@rule("SHOP-1", "each message of orders has a key")
def key(record):
    return implies(record.topic == "orders", record.has("KEYS"))
"""

from rocketproof_traces.audit.own import DeclaredRule
from rocketproof_traces.audit.own import own_rule as rule

__all__ = ["DeclaredRule", "rule"]
