"""Prints the replay of a witness on the implementation: a line for each step, and the result."""

from __future__ import annotations

from ...reports.output import Page
from .replay import Replayed


def performed(number: int, label: str) -> None:
    """Print a step that agrees with the model."""
    Page().line(f"{number:>4}  {label}")


def render_replayed(replayed: Replayed) -> None:
    """Print the result of a replay."""
    page = Page()
    claim, steps = replayed.witness.property, len(replayed.witness)
    if replayed.finding is not None:
        page.line(replayed.finding.text.rstrip("\n"))
        end = f"The implementation left the model after {replayed.done} of {steps} steps."
    elif not replayed.shown:
        end = f"All {steps} steps agree, but the implementation does not show what the witness shows of {claim.id}."
    else:
        likewise = {"reachable": "reaches it too", "always": "violates it too", "step": "violates it too"}
        does = likewise.get(claim.kind, "goes the same way")
        end = f"All {steps} steps agree: {claim.id} ({claim.sentence}); the implementation {does}."
    page.line(end, "bold")
