"""The checker knows for every request of a broker whether it can create a topic or change a group's offset.

It stops at a request of unknown kind: later requests would be judged less strictly without any report.
"""

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.programs import nameserver
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.vocabulary import STEPS, request_of
from rocketproof_traces.checker.group_offsets import MODELLED
from rocketproof_traces.checker.partition import MAKE_NONE

CREATE_TOPICS = {"send", "update_topic", "update_group", "heartbeat"}
UNKNOWN_EFFECT = {"other"}
"""A request with a code of the program's choice, and a change of any setting."""
MAY_COMMIT = {"pull"}
NEED_A_RECORD = {"back", "end"}
BROKER = {name: step for name, step in STEPS.items() if step.build is not None and step.build.__module__ != nameserver.__name__}


@pytest.mark.parametrize("name", sorted(BROKER.keys() - NEED_A_RECORD))
def test_effect_of_every_request_is_declared(name: str) -> None:
    call = request_of((name, {}), Context(ProgramNames("", 0), "", profile=PROFILES["P533"]))
    assert call is not None
    assert call.op in {*MAKE_NONE, *CREATE_TOPICS, *UNKNOWN_EFFECT}, f"add {call.op} to MAKE_NONE of checker/partition.py, or here"
    assert call.op in {*MODELLED, *MAY_COMMIT, *UNKNOWN_EFFECT}, f"add {call.op} to QUERIES of history/exchanges.py, or here"
