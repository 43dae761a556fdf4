"""Mutants of the decision which requests get a response, and of rejections before a request is read."""

from __future__ import annotations

from ..patch import Patch, Text, switched

_PARTS = "rocketproof_impl.broker"
_SERVED, _PULL = f"{_PARTS}.broker:Broker._register_processors", f"{_PARTS}.pull:PullMessageProcessor"
_REJECTS, _RECEIVE = f"{_PULL}.rejects", "rocketproof_impl.remoting.dispatch:Dispatcher.receive"

PATCHES: dict[str, Patch] = {
    **switched("M-156", _RECEIVE, "self.heeds_one_way"),
    **switched("M-157", f"{_PULL}._again", "self._broker.profile.heeds_one_way"),
    **switched("M-158", _SERVED, "self.profile.leaves_unknown"),
    **switched("M-159", _REJECTS, "self._broker.profile.slave_rejects_pulls"),
    "M-159c": [Text(_REJECTS, " and not settings.slave_read_enable", "")],
}
