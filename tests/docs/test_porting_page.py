"""The pages for porters list the requests that the code sends, the levels, and what is lost without a request."""

import inspect
import re
from pathlib import Path

from session import ROOT

from nonempty import nonempty
from rocketproof_properties.brokers import probe, selftest
from rocketproof_properties.brokers.deployment import LOST
from rocketproof_properties.brokers.runs import queries as looks
from rocketproof_properties.brokers.runs import readback
from rocketproof_properties.programs.selections import WIRED
from rocketproof_properties.programs.vocabulary import STEPS, plain
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.levels import LEVELS, REQUESTS
from rocketproof_protocol import codes

PAGE = ROOT / "properties" / "docs" / "requests.md"
LEVELS_PAGE = ROOT / "properties" / "docs" / "porting.md"
OTHERWISE = {"back": codes.CONSUMER_SEND_MSG_BACK, "end": codes.END_TRANSACTION}
"""Steps that become a request only after another step."""
SERVED_BY_NAME_SERVER = {
    *("register", "unregister", "route", "cluster", "forget_topic", "register_topic"),
    *("has_to_register", "permit_writes", "put_value", "values"),
}

SIMULATED = {"progress", "commit"}
"""Steps for the simulated cluster only."""


def used(module: object) -> set[str]:
    """Return the steps that a module requests."""
    return set(re.findall(r'(?:ask\(|plain\(|yield |\[\(|\n +\()"(\w+)"', inspect.getsource(module)))  # type: ignore[arg-type]


def rows() -> list[str]:
    """Return the table of requests, in the order of the codes."""
    by = {
        "to know the broker": used(probe),
        "to look or tidy up": used(readback) | used(looks),
        "in programs": set(WIRED),
        "self-test": used(selftest),
    }
    found = []
    for name, kind in STEPS.items():
        if kind.build is None or name in {"unknown", *SIMULATED}:
            continue
        try:
            code = code_of(name)
        except InputError:
            continue
        who = ", ".join(why for why, steps in by.items() if name in steps) or "in programs of a wire"
        where = "name server" if name in SERVED_BY_NAME_SERVER else "broker"
        found.append((code, f"| {code} | {codes.REQUESTS[code]} | {where} | {kind.sentence.partition(';')[0]} | {who} |"))
    return [row for _, row in sorted(found)]


def lost() -> list[str]:
    """Return the table of lost capabilities by missing request, lowest level first."""
    found = sorted((one.level or len(LEVELS) + 1, code_of(name), one.lost) for name, one in REQUESTS.items())
    return [f"| {code} | {level if level <= len(LEVELS) else ''} | {text} |" for level, code, text in found]


def levels() -> list[str]:
    """Return the table of levels."""
    cells = ((number, one.name, one.sentence, ", ".join(str(code_of(name)) for name in one.asks)) for number, one in enumerate(LEVELS, 1))
    return ["| " + " | ".join(map(str, row)) + " |" for row in cells]


def code_of(name: str) -> int:
    return OTHERWISE.get(name) or plain(name).code


def table(head: str, page: Path = PAGE) -> list[str]:
    """The rows of a page's table with this head."""
    lines = page.read_text("utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith(head))
    found = lines[begin + 2 :]
    return found[: next(k for k, line in enumerate(found) if not line.startswith("|"))]


def test_the_page_lists_every_request_that_is_sent() -> None:
    assert table("| code | request |") == rows(), "write this into the page:\n" + "\n".join(rows())


def test_page_lists_lost_capabilities_by_request() -> None:
    assert table("| without | level |") == lost(), "write this into the page:\n" + "\n".join(lost())


def test_the_page_lists_the_levels() -> None:
    assert table("| level | name |", LEVELS_PAGE) == levels(), "write this into the page:\n" + "\n".join(levels())


def test_page_describes_lost_capabilities_like_a_report() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    for capability, lost in nonempty(LOST.items()):
        assert f"| `{capability.value}` | {' '.join(lost.split())} |" in text, f"| `{capability.value}` | {lost} |"
