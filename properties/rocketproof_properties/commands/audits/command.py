"""Run an audit from the command's options to its files: findings.parquet and summary.json."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES
from rocketproof_traces.audit.findings import AuditFinding, table
from rocketproof_traces.audit.own import NONE, OwnRules
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.rules import Rule
from rocketproof_traces.audit.run import AuditOutcome, Report, SavedAnswers, audit
from rocketproof_traces.common.pools import WorkerPool

from ...catalogue.stored import settings, stored_rules
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from .thresholds import BY_DEFAULT, Thresholds, rules_named

FINDINGS, SUMMARY, KEPT = "findings.parquet", "summary.json", "audit.part"


@dataclass(frozen=True)
class StoreEntry:
    """What is known of a store besides its folder: its broker's profile, the plan of its audit, and the user's labels."""

    profile: str
    plan: AuditPlan
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Audited:
    """The outcome of an audit over all stores.

    `rules` are the rules that were checked, `profile` the one of stores that `entries` does not name. `thresholds` decide the exit code.
    `resumable`: the answers about the parts that were read are saved, so the same command continues a stopped audit.
    """

    rules: tuple[Rule, ...]
    outcome: AuditOutcome
    profile: str
    entries: Mapping[str, StoreEntry] = field(default_factory=dict)
    thresholds: Thresholds = BY_DEFAULT
    resumable: bool = False

    def profile_of(self, store: str) -> str:
        return self.entries[store].profile if store in self.entries else self.profile

    @property
    def findings(self) -> list[AuditFinding]:
        return sorted(finding for totals in self.outcome.totals for finding in totals.findings)

    def count(self, id_: str) -> int:
        """Return how many rows break a rule. At most `limit` of them per part of the log have a finding."""
        return sum(totals.counts.get(id_, 0) for totals in self.outcome.totals)

    @property
    def problems(self) -> list[str]:
        return [problem for totals in self.outcome.totals for problem in (totals.failure, *totals.problems) if problem]

    def labels_of(self, store: str) -> Mapping[str, str]:
        return self.entries[store].labels if store in self.entries else {}

    def broken(self, *severities: str) -> list[Rule]:
        return [rule for rule in self.rules if rule.severity in severities and self.count(rule.id)]

    @property
    def exit_code(self) -> int:
        """0: nothing is broken beyond the thresholds. 1: a rule fails the audit. 2: something cannot be read. 3: stopped before such a rule
        was found.
        """
        return exit_code(findings=self.failing, undecided=self.outcome.stopped, unreadable=self.problems)

    @property
    def failing(self) -> list[Rule]:
        """The broken rules that fail the audit by its thresholds."""
        return [rule for rule in self.rules if self.thresholds.fails(rule, self.count(rule.id))]

    def data(self) -> dict[str, Any]:
        """Return the summary: exact counts per rule and store, and records per topic."""
        return {
            "schema": 1,
            "profile": self.profile,
            "stopped": self.outcome.stopped,
            "rules": [
                {"property": rule.id, "sentence": rule.claim.sentence, "severity": rule.severity, "count": self.count(rule.id)}
                for rule in self.rules
            ],
            "stores": [
                {
                    "store": totals.store, "profile": self.profile_of(totals.store), "labels": dict(self.labels_of(totals.store)),
                    "status": totals.status, "reason": totals.failure,
                    "files": totals.files, "bytes": totals.bytes, "records": totals.records,
                    "counts": dict(sorted(totals.counts.items())), "topics": dict(sorted(totals.topics.items())),
                    "problems": totals.problems, "unread": totals.unread,
                }
                for totals in self.outcome.totals
            ],
        }  # fmt: skip


def plan_of(
    profile: str,
    asked: tuple[str, ...],
    limit: int,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    every: bool = False,
    own: OwnRules = NONE,
) -> AuditPlan:
    """Return the plan that checks the properties `asked`, or all if it is empty, for a broker of that profile and with the settings
    `given`. `own` are further rules. Raises InputError for an unknown property.
    """
    rules = (*stored_rules(), *own.rules)
    only = dict.fromkeys(id_ for name in asked for id_ in rules_named("--property", name, rules))
    chosen = tuple(sorted((settings(profile) | dict(given)).items()))
    return AuditPlan(stored_rules, chosen, tuple(only), limit, every, PROFILES[profile].hosts_by_flag, own)


def run(
    folders: tuple[str, ...],
    plan: AuditPlan,
    profile: str,
    out: Path | None,
    spread: WorkerPool,
    report: Report,
    *,
    entries: Mapping[str, StoreEntry] = MappingProxyType({}),
    strict: bool = True,
    thresholds: Thresholds = BY_DEFAULT,
    **more: Any,
) -> Audited:
    """Audit the stores in folders that `folders_of` returned, and write the findings and the summary into the folder `out`.

    A store of `entries` is audited by its own plan. Without `strict`, a store that cannot be read does not prevent the audit of the others.
    Raises RocketproofError.
    """
    with _writing(out):
        if out is not None:
            table(())  # Arrow loads pandas for its first table: a second that is not available after an interrupt
        kept = SavedAnswers(None) if out is None else SavedAnswers(out / KEPT, [out / FINDINGS, out / SUMMARY])
        plans = {store: entry.plan for store, entry in entries.items()}
        outcome = audit(plan, folders, spread, kept, report, plans=plans, strict=strict or len(folders) == 1, **more)
        interrupts.decide()
        audited = Audited(plan.rules, outcome, profile, entries, thresholds, resumable=out is not None)
        if out is not None:
            _write(out, audited)
    return audited


@contextmanager
def _writing(out: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "make room there, and give the same command again: it goes on" if error.errno == errno.ENOSPC else "give another folder"
        raise InputError(f"--out {out}: cannot be written ({error.strerror or error}); {remedy}") from None


def _write(out: Path, audited: Audited) -> None:
    import pyarrow.parquet as pq

    from ...reports import files as store

    store.replace(out / FINDINGS, lambda part: pq.write_table(table(audited.findings), part))
    store.write_json(out / SUMMARY, audited.data(), "--out")
