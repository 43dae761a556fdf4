"""The page for porters lists the requests that the code sends, and what it says is lost."""

import inspect
import re

from session import HOUSE

from rocketproof_properties.choices import InputError
from rocketproof_properties.deployments import probe, selftest
from rocketproof_properties.deployments.deployment import LOST
from rocketproof_properties.generators.programs import WIRED
from rocketproof_properties.runs import readback
from rocketproof_properties.steps.vocabulary import STEPS, plain
from rocketproof_protocol import codes

PAGE = HOUSE / "properties" / "docs" / "porting.md"
OTHERWISE = {"back": codes.CONSUMER_SEND_MSG_BACK, "end": codes.END_TRANSACTION}
"""Steps that become a request only after another one."""
SERVED_BY_NAME_SERVER = {"register", "unregister", "route", "cluster", "delete_route"}

SIMULATED = {"progress", "commit"}
"""Steps that are asked of the simulated cluster only."""


def used(module: object) -> set[str]:
    """The steps that a module asks for."""
    return set(re.findall(r'(?:ask|plain)\("(\w+)"', inspect.getsource(module)))  # type: ignore[arg-type]


def rows() -> list[str]:
    """The table of requests, in the order of the codes."""
    by = {"to know the broker": used(probe), "to look or tidy up": used(readback), "in programs": set(WIRED), "self-test": used(selftest)}
    found = []
    for name, kind in STEPS.items():
        if kind.build is None or name in {"unknown", *SIMULATED}:
            continue
        try:
            code = OTHERWISE.get(name) or plain(name).code
        except InputError:
            continue
        who = ", ".join(why for why, steps in by.items() if name in steps) or "in programs of a wire"
        where = "name server" if name in SERVED_BY_NAME_SERVER else "broker"
        found.append((code, f"| {code} | {request_name(code)} | {where} | {kind.sentence.partition(';')[0]} | {who} |"))
    return [row for _, row in sorted(found)]


def request_name(code: int) -> str:
    """The constant that stands first for a request of this code; answers have names above 0 too, which come later."""
    return next(name for name, value in vars(codes).items() if value == code)


def test_the_page_lists_every_request_that_is_sent() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("| code | request |"))
    table = lines[begin + 2 :]
    table = table[: next(k for k, line in enumerate(table) if not line.startswith("|"))]
    assert table == rows(), "write this into the page:\n" + "\n".join(rows())


def test_the_page_says_what_is_lost_as_a_report_does() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    for capability, lost in LOST.items():
        assert f"| `{capability.value}` | {' '.join(lost.split())} |" in text, f"| `{capability.value}` | {lost} |"
