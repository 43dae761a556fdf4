"""Commands about recorded data."""

from __future__ import annotations

from pathlib import Path

from .common import DIFFERS, OK, STOPPED, positive


def judge(file: Path, /, *, profile: str, limit: int = 1_000_000, json: Path | None = None) -> int:
    """Judge what a real or simulated broker answered: does the specification explain it?

    Parameters
    ----------
    file
        Recorded cases, one JSON object a line, or a history of concurrent requests.
    profile
        The profile to judge by, such as P494.
    limit
        How many states of a history the judge may expand before it gives up.
    json
        Write the judgement to this file.
    """
    from rocketproof_profiles import PROFILES

    from .. import output, store
    from ..choices import known

    profile = known("profile", profile, PROFILES)
    positive("--limit", limit)
    if json is not None:
        store.check_writable(json)
    from rocketproof_traces import histories, history
    from rocketproof_traces import judge as judging

    if history.is_history(file):
        header, events = history.read(file)
        with output.counting("judging answer") as report:
            verdict = histories.judge_history(header, list(events), profile, limit, report)
        if json is not None:
            store.write_json(json, verdict.data())
        output.print_verdict(verdict)
        return {"ok": OK, "illegal": DIFFERS, "unknown": STOPPED}[verdict.verdict]
    with output.counting("judging case") as report:
        found = judging.judge(file, profile, report)
    if json is not None:
        store.write_json(json, found.data())
    output.print_judgement(found)
    return DIFFERS if found.unexplained else OK
