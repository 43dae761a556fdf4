"""Judge the histories of a folder while others write them: each file once, as soon as nobody writes to it any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocketproof_model import interrupts
from rocketproof_traces.bulk.ingest import sources
from rocketproof_traces.bulk.results import FolderResults, Summary
from rocketproof_traces.bulk.work import JudgingJob

Judge = Callable[[JudgingJob], Summary]


def follow(job: JudgingJob, judge: Judge, show: Callable[[Summary, Summary | None], None], interval: float) -> Summary:
    """Judge new files every `interval` seconds until Ctrl-C, and return the summary of all.

    A file is judged if its size and time have not changed for an interval. `show` is called after each round with the summary and the one
    before. A restart continues, because the job's folder keeps what was judged. Raises TraceError, and KeyboardInterrupt if nothing was
    judged before Ctrl-C.
    """
    before: frozenset[tuple[str, str]] = frozenset()
    done: frozenset[tuple[str, str]] = frozenset()
    summary: Summary | None = None
    try:
        while True:
            now = frozenset(sources(list(job.sources)))
            settled = now & before
            if settled - done:
                last, summary = summary, judge(replace(job, only=settled - done))
                show(summary, last)
                done |= settled
            before = now
            interrupts.pause(interval)
    except KeyboardInterrupt:
        if summary is None:
            raise
        interrupts.heard()
        return FolderResults(job.out).summary(job.profile)
