"""The component that answers a request, on the simulated broker: a planted error is a finding."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_impl.remoting import dispatch
from rocketproof_impl.remoting.ports import Rejected, RequestTask
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


@behaviour("REM-07", "INV-03")
def test_overload_reported_to_one_way_caller_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def tells(self: dispatch.Dispatcher, processor: Any, channel: Any, request: Any) -> None:
        try:
            processor.executor.submit(RequestTask(lambda: self._serve(processor, channel, request), channel, request))
        except Rejected:
            dispatch.write(channel, dispatch.system_busy(request, "overload"))

    steps = ["submit(r=0, one_way=True)", "submit(r=1, one_way=True)", "overload(r=2, one_way=True)"]
    replay("answers", "P49", steps)
    monkeypatch.setattr(dispatch.Dispatcher, "_submit", tells)
    with pytest.raises(ConformanceError, match="answers"):
        replay("answers", "P49", steps)


@behaviour("REM-09", "INV-01", "INV-02", "HAZ-24")
def test_response_to_future_exception_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answers(self: Any, channel: Any, request: Any, future: Any) -> None:
        dispatch.write(channel, dispatch.response_to(request))

    steps = ["submit(r=0, one_way=False)", "hand_over(r=0)", "future_throws(r=0)", "end(r=0)"]
    replay("answers", "P49", steps)
    monkeypatch.setattr(dispatch.Dispatcher, "_completed", answers)
    with pytest.raises(ConformanceError, match="answers"):
        replay("answers", "P49", steps)
