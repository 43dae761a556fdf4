"""`judge` and `audit`: what a broker answered, and what it has stored, judged in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rocketproof_profiles import PROFILES

from ...reports.choices import known

if TYPE_CHECKING:
    from rocketproof_traces.checker.histories import HistoryVerdict
    from rocketproof_traces.checker.recordings import Judgement

    from ..audits.command import Audited

    Judged: TypeAlias = HistoryVerdict | Judgement
Report: TypeAlias = Callable[[int, int], None]


def judge(
    history: str | os.PathLike[str],
    *,
    profile: str,
    limit: int | None = None,
    time: float | None = None,
    report: Report | None = None,
) -> Judged:
    """Does the specification explain what a broker answered? `history` is a recorded history of clients, or a recording of single cases.

    The result has `verdict` (`ok`, `illegal`, or `unknown` where a bound left it open), `findings` (the first event of each part that
    nothing explains, with the guard that refuses it), `explained`, `out_of_reach` and `data()`, its JSON form. `limit` bounds the states
    of each part that are expanded, `time` the seconds of computing after the last answer that was explained; `report(done, all)` is
    called on the way. Raises RocketproofError for an unknown profile and for what is no history.
    """
    from ...judging.onefile import judge_file

    return judge_file(Path(history), known("profile", profile, PROFILES), limit, report, time)


def audit(
    *stores: str | os.PathLike[str],
    profile: str = "P494",
    property: str | Iterable[str] = (),
    broker_conf: str | os.PathLike[str] | None = None,
    settings: Mapping[str, str] | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    limit: int = 100,
    report: Report | None = None,
) -> Audited:
    """Is what a broker has stored what RocketMQ promises? `stores` are folders with a commitlog.

    The result has `findings`, `broken("error", "warning")` (the rules that something breaks), `count(id)`, `problems` (files that cannot
    be read) and `data()`, its JSON form. `property` names properties or rules to look at, all unless given; `broker_conf` is the broker's
    configuration file, and `settings` such as `{"maxMessageSize": "4194304"}` come before it; `out` is a folder for the findings; `limit`
    bounds the findings that are kept of a rule in each part of the log; `workers` are processes of this machine, one for each core unless
    given, or 1 to stay in this one; `report(bytes, all)` is called on the way. Raises RocketproofError for wrong arguments.
    """
    from ..audits.folders import folders_of

    folders = folders_of([os.fspath(store) for store in stores])
    from rocketproof_traces.audit.run import silent

    from ...judging.engines import spreading
    from ..audits import brokerconf, command

    given = brokerconf.of_broker(
        None if broker_conf is None else Path(broker_conf), [f"{name}={value}" for name, value in (settings or {}).items()]
    )
    name = known("profile", profile, PROFILES)
    plan = command.plan_of(name, (property,) if isinstance(property, str) else tuple(property), limit, given)
    spread = spreading("local", workers, None, None, short=True)
    folder = None if out is None else Path(out)
    return command.run(folders, plan, name, folder, spread, report or silent)
