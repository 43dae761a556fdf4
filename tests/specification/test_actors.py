"""Every action names its actor, so that no other module keeps lists of names."""

import pytest

from rocketproof_spec import NAMES, part
from rocketproof_spec.actors import ACTORS, CLIENT, HANDLER


@pytest.mark.parametrize("scope", NAMES)
def test_every_action_names_its_actor(scope: str) -> None:
    assert {action.name: action.actor for action in part(scope).model.actions if action.actor not in ACTORS} == {}


def test_request_belongs_to_client_until_arrival_and_at_response() -> None:
    actions = {action.name: action.actor for action in part("names").model.actions}
    assert {name for name, actor in actions.items() if actor == CLIENT} == {"request", "finish"}
    assert actions["store"] == actions["lock_timeout"] == HANDLER
