"""What a replay of a witness on the implementation prints: a line for each step, and how it ended."""

from __future__ import annotations

from ...reports.output import Page
from .replay import Replayed


def performed(number: int, label: str) -> None:
    """One step of a replay that the implementation did as the model does."""
    Page().line(f"{number:>4}  {label}")


def render_replayed(found: Replayed) -> None:
    """How a replay ended."""
    page = Page()
    claim, steps = found.witness.property, len(found.witness)
    if found.finding is not None:
        page.line(found.finding.text.rstrip("\n"))
        end = f"The implementation left the model after {found.done} of {steps} steps."
    elif not found.shown:
        end = f"All {steps} steps agree, but the implementation does not show what the witness shows of {claim.id}."
    else:
        likewise = {"reachable": "reaches it too", "always": "violates it too", "step": "violates it too"}
        does = likewise.get(claim.kind, "goes the same way")
        end = f"All {steps} steps agree: {claim.id} ({claim.sentence}); the implementation {does}."
    page.line(end, "bold")
