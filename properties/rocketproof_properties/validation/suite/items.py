"""The catalogue as pytest nodes: an item for each entry, which passes, fails or is skipped by the result of the session's single run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from ...reports.output import phases_and_findings
from ..entries import SuiteEntry
from . import shared
from .options import Options
from .outcomes import EntryOutcome

NAME: Final = "rocketproof"
OPTIONS = pytest.StashKey[Options]()
SCRATCH = pytest.StashKey[Path]()
BASE: Final = Path(".rocketproof") / "suite"


class Catalogue(pytest.Collector):
    """The entries of the target's profile that the target can show, filtered by `wanted` (by node id)."""

    def __init__(self, *, wanted: Callable[[str], bool], **more: Any) -> None:
        super().__init__(**more)
        self._wanted = wanted

    def collect(self) -> Iterator[pytest.Item]:
        options = self.config.stash[OPTIONS]
        target = shared.target_of(options)
        for entry in shared.entries_of(target, options):
            if self._wanted(f"{NAME}::{entry.id}"):
                yield CatalogueItem.from_parent(self, name=entry.id, entry=entry, profile=target.profile)


class CatalogueItem(pytest.Item):
    """One entry under a profile."""

    def __init__(self, *, entry: SuiteEntry, profile: str, **more: Any) -> None:
        super().__init__(**more)
        self.entry, self.profile = entry, profile
        self.add_marker(getattr(pytest.mark, NAME))
        self.add_marker(getattr(pytest.mark, f"{NAME}_{entry.kind}"))
        if entry.expected == "violated":
            self.add_marker(getattr(pytest.mark, f"{NAME}_known"))
        self.extra_keyword_matches.update(entry.claims)
        properties = {
            "id": entry.id,
            "sentence": entry.sentence,
            "profile": profile,
            "expected": entry.expected,
            "condition": entry.condition,
        }
        self.user_properties += [(f"{NAME}_{name}", value) for name, value in properties.items() if value]

    def __repr__(self) -> str:
        under = f" with {self.entry.condition}" if self.entry.condition else ""
        return f"<Item {self.entry.title}: {self.entry.expected} under {self.profile}{under}>"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.config.rootpath / NAME, None, f"{NAME}::{self.entry.title}"

    def setup(self) -> None:
        """Get the session's run, or perform it. If it failed, one item reports the error and the others are skipped."""
        results = self._results()
        if results.error and shared.is_first_to_report(self.config.stash[SCRATCH]):
            pytest.fail(results.error, pytrace=False)
        if results.error:
            pytest.skip(f"there is no run: {results.error}")

    def runtest(self) -> None:
        outcome = self._results().outcomes.get(self.entry.id) or EntryOutcome("skipped", "not exercised: the run has no verdict on it")
        self.user_properties.append((f"{NAME}_verdict", outcome.words))
        self.user_properties += [(f"{NAME}_{what}", path) for what, path in outcome.files.items()]
        if outcome.status == "failed":
            pytest.fail(outcome.said, pytrace=False)
        if outcome.status in ("skipped", "undecided"):
            pytest.skip(outcome.words)
        if outcome.status == "accepted":
            pytest.xfail(outcome.words)
        if outcome.said:
            self.add_report_section("call", NAME, f"{outcome.words}\n{outcome.said}")

    def teardown(self) -> None:
        """Report an early end of the run by the target, or undecided results, as an error of one item."""
        results = shared.known(self.config.stash[SCRATCH])
        if results is not None and results.too_little and not results.error and shared.is_first_to_report(self.config.stash[SCRATCH]):
            pytest.fail(f"the run says less than it was asked for: {results.too_little}", pytrace=False)

    def _results(self) -> shared.SuiteResults:
        scratch, options = self.config.stash[SCRATCH], self.config.stash[OPTIONS]
        results = shared.known(scratch)
        if results is not None:
            return results
        base = self.config.invocation_params.dir / BASE
        with ExitStack() as stack:
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is None:  # a worker of xdist
                return shared.obtain(scratch, options, base)
            capture = self.config.pluginmanager.get_plugin("capturemanager")
            if capture is not None:
                stack.enter_context(capture.global_and_fixture_disabled())
            terminal.write_line(f" performing {options.programs} programs on {options.target}, seed {options.seed}")
            return shared.obtain(scratch, options, base, *stack.enter_context(phases_and_findings()))
