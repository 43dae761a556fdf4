"""The histories of a report that contain the observed state of brokers instead of requests: of restarts and of slaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..brokers.runs.recording import HistoryRecorder
from ..judging.verdicts import JudgedProgram
from ..judging.wholelog import LOGS, judge_log
from ..programs.program import Program


@dataclass
class StateReport:
    """The histories of states in a report's folder, after the `known` existing ones. `origin` is the origin in their headers."""

    folder: Path
    known: int
    needs: str
    origin: Mapping[str, Any]
    profile: str

    def judged(self, broker: str, op: str, source: str, state: Mapping[str, Any]) -> JudgedProgram:
        """Record the state of a broker as a `state` event `op`, and judge it. `source` names its origin in the report."""
        self.known += 1
        (self.folder / LOGS).mkdir(exist_ok=True)
        path = self.folder / LOGS / f"{self.known}.ndjson"
        recording = HistoryRecorder(path, {**self.origin, "program": Program(0, source, (), self.needs).data(), "broker": broker})
        recording.add("state", broker, op, state)
        recording.close()
        return judge_log(path, self.profile)
