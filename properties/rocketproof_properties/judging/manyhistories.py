"""Judge many histories at once: run the chosen engine, print the result, compute the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rocketproof_traces.bulk.kinds import BROKEN, UNREADABLE
from rocketproof_traces.bulk.results import Summary
from rocketproof_traces.bulk.work import JudgingJob
from rocketproof_traces.common.outcomes import NOTHING_JUDGED
from rocketproof_traces.common.pools import cores
from rocketproof_traces.spark.cluster import SparkCluster

from ..reports.exitcode import exit_code
from ..reports.output import Page, counted, phrases
from .engines import check_engine

Engine = Literal["spark", "local"]
SHOWN = 20
"""Number of findings that are printed. The files contain all findings."""


def run(job: JudgingJob, engine: Engine, cluster: SparkCluster) -> Summary:
    """Judge the histories of a job. Raises InputError and TraceError."""
    check_engine(engine, cluster)
    with phrases() as report:
        if engine == "local":
            from rocketproof_traces.bulk import local

            return local.judge(job, cluster.cores or cores(), report)
        from rocketproof_traces.spark import histories

        return histories.judge(cluster.session(), job, report)


def render_new(summary: Summary, before: Summary | None) -> None:
    """Print how many histories are judged, and the findings that a round has added."""
    page = Page()
    here = f"{Path.cwd()}/"
    known = set() if before is None else set(map(repr, before.findings))  # a dictionary has no hash, and following may find many
    page.line(_by_verdict(summary.histories, "history", "histories"))
    new = [finding for finding in summary.findings if repr(finding) not in known]
    for finding in new[:SHOWN]:
        page.wrapped(_finding(finding).replace(here, ""), "bold red")
    if len(new) > SHOWN:
        page.line(f"and {len(new) - SHOWN} more")


def code_of(summary: Summary) -> int:
    """Return the exit code for a summary."""
    failing = [finding for finding in summary.findings if finding.get("severity") != "note"]
    return exit_code(findings=failing, undecided=summary.unknown, unreadable=summary.verdict == "unreadable")


def render(summary: Summary, out: str | None) -> None:
    """Print a summary: counts, requests out of reach, findings, broken rules of the user, the verdict. `out`: the folder of the files."""
    page = Page()
    here = f"{Path.cwd()}/"  # files below it are shown with relative paths
    page.line(f"{_by_verdict(summary.histories, 'history', 'histories')}, {_by_verdict(summary.parts, 'part')}")
    page.line(f"{summary.events:,} events judged by {summary.profile}: {summary.explained:,} answers explained")
    for reason, number in summary.out_of_reach.most_common():
        page.wrapped(f"out of reach: {reason}", first=f"{number:8,} ", indent=11)
    for finding in summary.findings[:SHOWN]:
        page.wrapped(_finding(finding).replace(here, ""), "bold red")
    if len(summary.findings) > SHOWN:
        page.line(f"and {len(summary.findings) - SHOWN} more")
    for text in summary.unknown[:SHOWN]:
        page.wrapped(f"not decided: {text}".replace(here, ""), "bold yellow")
    for rule, number in sorted(summary.rules.items()):
        page.line(f"rule {rule} is broken {counted(number, 'time')}", "bold red")
    if out is not None:
        page.line(f"findings and verdicts are in {out}".replace(here, ""))
    remedy = "" if NOTHING_JUDGED in summary.unknown else ": a larger --limit or --time, or the events that are missing may decide"
    explained = "Ok: the specification explains all histories"
    if summary.rules:
        broken = counted(len(summary.rules), "own rule is", "own rules are")
        explained = f"The specification explains all histories; {broken} broken"
    words = {
        "ok": (explained, "bold red" if code_of(summary) else "bold green"),
        "illegal": (counted(sum(finding["kind"] != BROKEN for finding in summary.findings), "finding"), "bold red"),
        "unreadable": ("Nothing could be judged", "bold red"),
        "unknown": (f"Unknown{remedy}", "bold yellow"),
    }
    page.line(*words[summary.verdict])


def _by_verdict(numbers: Mapping[str, int], singular: str, plural: str = "") -> str:
    total = sum(numbers.values())
    listed = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(numbers.items(), key=lambda item: -item[1]))
    return f"{counted(total, singular, plural)} ({listed})" if total else f"no {plural or singular + 's'}"


def _finding(row: Mapping[str, Any]) -> str:
    """Return a finding as one line."""
    if row["kind"] == UNREADABLE:
        place = row["history"] if row["file"] is None else row["file"] if row["line"] is None else f"{row['file']}:{row['line']}"
        at = f", event {row['seq']}" if row["seq"] is not None else ""
        return f"not readable: {place}{at}: {row['recorded']}"
    if row["kind"] == BROKEN:
        at = f" ({row['part'] or 'the whole history'})" if row["seq"] is None else f", event {row['seq']} ({row['op']} of {row['process']})"
        sides = f"expected {row['specified']}, found {row['recorded']}"
        return f"{row['severity']} {row['rule']}: {row['history']}{at}: {row['sentence']}: {sides}"
    text = f"not explained: {row['history']}, event {row['seq']} ({row['op']} of {row['process']}; {row['part']}): "
    text += f"recorded {row['recorded']}; the specification {row['specified']}"
    if not row["sentence"]:
        return text
    why = f"{row['action']} is refused by guard '{row['guard']}' ({row['sentence']})" if row["guard"] else row["sentence"]
    return f"{text}; {why} with {', '.join(f'{name} = {value}' for name, value in row['values'].items())}"


__all__ = ["Engine", "code_of", "render", "render_new", "run"]
