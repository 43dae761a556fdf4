"""Every action says who does it, so that nothing else has to keep lists of names."""

import pytest

from rocketproof_spec import NAMES, part
from rocketproof_spec.actors import ACTORS, CLIENT, HANDLER


@pytest.mark.parametrize("scope", NAMES)
def test_every_action_says_who_does_it(scope: str) -> None:
    assert {action.name: action.actor for action in part(scope).model.actions if action.actor not in ACTORS} == {}


def test_a_request_is_the_clients_until_it_arrives_and_when_it_is_answered() -> None:
    actions = {action.name: action.actor for action in part("names").model.actions}
    assert {name for name, actor in actions.items() if actor == CLIENT} == {"request", "finish"}
    assert actions["store"] == actions["lock_timeout"] == HANDLER
