"""`judge` and `audit`: check recorded responses and stored data of a broker in this process."""

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
    """Judge a broker's responses by the specification. `history` is a recorded history of clients, or a recording of single cases.

    The result has `verdict`, `findings`, `explained`, `out_of_reach` and `data()`, its JSON form. `verdict` is `ok`, `illegal`, or
    `unknown` if a bound left it open. `findings` has the first unexplained event of each part, with the guard that refuses it. `limit`
    bounds the number of states expanded per part. `time` bounds the seconds of computing without a further explained response.
    `report(done, all)` is called during the run.

    Raises RocketproofError for an unknown profile and for a file that is no history.
    """
    from ...judging.onefile import judge_file

    return judge_file(Path(history), known("profile", profile, PROFILES), limit, report, time)


def audit(
    *stores: str | os.PathLike[str],
    profile: str = "P494",
    property: str | Iterable[str] = (),
    rules: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    broker_conf: str | os.PathLike[str] | None = None,
    settings: Mapping[str, str] | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    limit: int = 100,
    report: Report | None = None,
) -> Audited:
    """Check whether stored data keeps what RocketMQ promises. `stores` are folders with a commitlog.

    The result has `findings`, `broken("error", "warning")` (the broken rules), `count(id)`, `problems` (files that cannot be read) and
    `data()`, its JSON form. `property` selects properties or rules, by default all. `rules` are Python files with
    rules of your own, which are checked too. `broker_conf` is the broker's configuration file;
    `settings` such as `{"maxMessageSize": "4194304"}` override it. `out` is a folder for the findings. `limit` bounds the findings kept per
    rule and part of the log. `workers` is the number of processes, by default one per core; 1 stays in this process. `report(bytes, all)`
    is called during the run.

    Raises RocketproofError for wrong arguments.
    """
    from ..audits.folders import folders_of

    folders = folders_of([os.fspath(store) for store in stores])
    from rocketproof_traces.audit.fields import AUDITED_ROWS
    from rocketproof_traces.audit.run import ignore_progress
    from rocketproof_traces.common.pools import cores, on_threads

    from ...catalogue import ownrules
    from ..audits import brokerconf, command

    broker_settings = brokerconf.of_broker(
        None if broker_conf is None else Path(broker_conf), [f"{name}={value}" for name, value in (settings or {}).items()]
    )
    name = known("profile", profile, PROFILES)
    files = [rules] if isinstance(rules, str | os.PathLike) else list(rules)
    own = ownrules.load([Path(file) for file in files], AUDITED_ROWS, "the audit")
    asked = (property,) if isinstance(property, str) else tuple(property)
    plan = command.plan_of(name, asked, limit, broker_settings, own=own)
    spread = on_threads(workers or cores())
    folder = None if out is None else Path(out)
    return command.run(folders, plan, name, folder, spread, report or ignore_progress)
