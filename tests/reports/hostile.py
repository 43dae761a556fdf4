"""A run whose texts all contain hostile text of a broker or a file."""

from __future__ import annotations

from typing import Final

from rocketproof_properties.reports.results import ActionCovered, Covered, GuardSides, Result, Run, SourcePlace

HOSTILE: Final = "a <b>&amp;</b> ]]> --> 100% | `x` \x1b[31m\x00 \ud800 @all \n::error::line two,a:b\r</script>"


def result(id_: str = "INV-01", outcome: str = "differs", **more: object) -> Result:
    """Return a result, not as expected by default."""
    given = {"sentence": "a topic has a name", "verdict": "violated", "expected": "holds", "profile": "P49", **more}
    return Result(id_, outcome=outcome, **given)  # type: ignore[arg-type]


def run(*results: Result, code: int = 1, **more: object) -> Run:
    return Run("check", "the specification", results, code, "P49", "2026-01-02T03:04:05+00:00", 1.25, "9.9", **more)  # type: ignore[arg-type]


FULL: Final = run(
    result(message="broker-a forgot it", details="one\ntwo", place=SourcePlace("topics.py", 12), commands=("rocketproof show w.json",)),
    result("INV-02", condition="a crash", place=SourcePlace("store/commitlog/000", offset=77), cause="send.code"),
    result("INV-03", "error", message="z3 stopped", verdict="error", cause="send.code"),
    result("INV-04", "undecided", verdict="unknown", message="stopped by the time limit"),
    result("INV-05", "accepted", message="accepted until 2027-01-31: ours differs"),
    result("INV-06", "skipped", verdict="not shown", message="too seldom"),
    result("INV-07", "ok", verdict="holds", seconds=0.5),
    notes=("a note",),
    line="rocketproof check --report 'junit:our file.xml'",
    covered=(
        Covered(
            "P49",
            (
                ActionCovered(
                    "send", 3, (GuardSides("runs", "the broker runs", True, False), GuardSides("left", "one is left", True, False, True))
                ),
                ActionCovered(
                    "crash", 0, (GuardSides("crashes left", "the scope allows a crash", False, True, True),), sentence="a broker dies"
                ),
                ActionCovered("restart", 0, reached=True),
            ),
        ),
    ),
)
WILD: Final = run(
    *(
        result(
            f"X{HOSTILE}",
            outcome,
            sentence=HOSTILE,
            condition=HOSTILE,
            message=HOSTILE,
            details=HOSTILE,
            verdict=HOSTILE,
            witness=HOSTILE,
            cause=HOSTILE,
            about=HOSTILE,
            commands=(HOSTILE,),
            place=SourcePlace(HOSTILE, 3),
            properties={HOSTILE: HOSTILE},
        )
        for outcome in ("error", "differs", "undecided", "accepted", "skipped", "ok")
    ),
    notes=(HOSTILE,),
    stopped=HOSTILE,
    line=HOSTILE,
    covered=(Covered(HOSTILE, (ActionCovered(HOSTILE, 1, (GuardSides(HOSTILE, HOSTILE, True, False),)),)),),
)
