"""Decide which broken rules fail an audit: by severity, by a number of rows per rule, and with rules that never fail it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rocketproof_protocol.numbers import java_int
from rocketproof_traces.audit.rules import Rule

from ...reports.choices import InputError, TomlTable, read_toml

SEVERITIES: Final = ("error", "warning")
KEYS: Final = ("fail-on", "warn", "limits")
_FORM: Final = 'give error, warning, RULE, or "RULE>N" in quotes'


@dataclass(frozen=True)
class Thresholds:
    """What fails an audit.

    - `severity`: a broken rule of this severity or a higher one fails it.
    - `limits`: by rule, the number of broken rows above which it fails the audit, whatever its severity.
    - `warned`: rules that never fail it.
    """

    severity: str = "warning"
    limits: Mapping[str, int] = field(default_factory=dict)
    warned: frozenset[str] = frozenset()

    def fails(self, rule: Rule, count: int) -> bool:
        """Return whether a rule that `count` rows break fails the audit."""
        if rule.id in self.warned:
            return False
        if rule.id in self.limits:
            return count > self.limits[rule.id]
        return count > 0 and rule.severity in SEVERITIES[: SEVERITIES.index(self.severity) + 1]


BY_DEFAULT: Final = Thresholds()
"""The thresholds without options: errors and warnings fail an audit."""


def thresholds_of(file: Path | None, fail_on: Sequence[str], warn: Sequence[str], rules: Sequence[Rule]) -> Thresholds:
    """Return the thresholds of a file and of options, which override the file. They name some of `rules`. Raises InputError."""
    severity, limits, warned = _in_file(file, rules)
    for text in fail_on:
        if text in SEVERITIES:
            severity = text
            continue
        name, more, number = (part.strip() for part in text.partition(">"))
        limit = java_int(number) if more else 0
        if limit is None or limit < 0:
            raise InputError(f"--fail-on {text}: {number or 'nothing'} is no number of rows; {_FORM}")
        chosen = dict.fromkeys(rules_named("--fail-on", name, rules), limit)
        limits |= chosen
        warned -= chosen.keys()
    for name in warn:
        warned |= set(rules_named("--warn", name, rules))
    return Thresholds(severity, limits, frozenset(warned))


def _in_file(file: Path | None, rules: Sequence[Rule]) -> tuple[str, dict[str, int], set[str]]:
    if file is None:
        return BY_DEFAULT.severity, {}, set()
    place = f"--thresholds {file}"
    _, data = read_toml(file, place, f"a TOML file with the keys {', '.join(KEYS)}")
    TomlTable(data, lambda _table, _key: place, KEYS)
    severity, warn, given = data.get("fail-on", BY_DEFAULT.severity), data.get("warn", []), data.get("limits", {})
    if severity not in SEVERITIES or not isinstance(warn, list) or not isinstance(given, dict):
        raise InputError(f'{place}: wrong form; give fail-on = "error", warn = ["RULE"] and a table [limits] with RULE = N')
    limits: dict[str, int] = {}
    for name, limit in given.items():
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise InputError(f"{place}: limits: {name} = {limit!r} is no number of rows; give 0 or more")
        limits |= dict.fromkeys(rules_named(f"{place}: limits", str(name), rules), limit)
    return severity, limits, {id_ for name in warn for id_ in rules_named(f"{place}: warn", str(name), rules)}


def rules_named(option: str, name: str, rules: Sequence[Rule]) -> list[str]:
    """Return the ids of the rules that a property or rule names. Raises InputError for an unknown one."""
    ids = [rule.id for rule in rules]
    matching = [id_ for id_ in ids if name.upper() in (id_.upper(), id_.partition(".")[0].upper())]
    if not matching:
        raise InputError(f"{option} {name}: no rule about stored data has this id; the ids are {', '.join(ids)}")
    return matching
