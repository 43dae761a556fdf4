"""The catalogue as nodes of pytest: an item for each entry, which passes, fails or is skipped by what the session's one run says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from ...reports.output import phases
from ..entries import SuiteEntry
from . import shared
from .options import Options
from .outcomes import EntryOutcome

NAME: Final = "rocketproof"
OPTIONS = pytest.StashKey[Options]()
SCRATCH = pytest.StashKey[Path]()
BASE: Final = Path(".rocketproof") / "suite"


class Catalogue(pytest.Collector):
    """The entries that the target's profile has and the target can show; of them those that are `wanted` by their nodes' ids."""

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
        told = {"id": entry.id, "sentence": entry.sentence, "profile": profile, "expected": entry.expected, "condition": entry.condition}
        self.user_properties += [(f"{NAME}_{name}", value) for name, value in told.items() if value]

    def __repr__(self) -> str:
        under = f" with {self.entry.condition}" if self.entry.condition else ""
        return f"<Item {self.entry.title}: {self.entry.expected} under {self.profile}{under}>"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.config.rootpath / NAME, None, f"{NAME}::{self.entry.title}"

    def setup(self) -> None:
        """Have the run, or make it. What went wrong with it is told by one item; the others are skipped."""
        found = self._results()
        if found.error and shared.is_first_to_tell(self.config.stash[SCRATCH]):
            pytest.fail(found.error, pytrace=False)
        if found.error:
            pytest.skip(f"there is no run: {found.error}")

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
        """That the target ended the run early, or that something is undecided, is an error of one item, whatever that says itself."""
        found = shared.known(self.config.stash[SCRATCH])
        if found is not None and found.too_little and not found.error and shared.is_first_to_tell(self.config.stash[SCRATCH]):
            pytest.fail(f"the run says less than it was asked for: {found.too_little}", pytrace=False)

    def _results(self) -> shared.SuiteResults:
        scratch, options = self.config.stash[SCRATCH], self.config.stash[OPTIONS]
        found = shared.known(scratch)
        if found is not None:
            return found
        base = self.config.invocation_params.dir / BASE
        with ExitStack() as stack:
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is None:  # a worker of xdist
                return shared.obtain(scratch, options, base, lambda what, done, all_: None)
            capture = self.config.pluginmanager.get_plugin("capturemanager")
            if capture is not None:
                stack.enter_context(capture.global_and_fixture_disabled())
            terminal.write_line(f" performing {options.programs} programs on {options.target}, seed {options.seed}")
            return shared.obtain(scratch, options, base, stack.enter_context(phases()))
