"""The releases of Apache RocketMQ: the profile of each, and how it is started.

Commands, pages and tests use this table. There is no other.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from rocketproof_protocol.numbers import is_digits, whole_number

Evidence = Literal["articles", "programs", "recording"]


_RELEASE: Final = re.compile(r"[45](\.[0-9]{1,2}){1,2}(-SNAPSHOT)?")


class Start(NamedTuple):
    """How the servers of a release are started from its jars.

    `artifacts` of `group`, without the dependencies `excluded`, are the jars in Maven's repository. `name_server` and `broker` are the main
    classes. `logback`: the prefix of the logging library's packages. `settings`: settings of a broker that keep it small and local.
    """

    group: str
    artifacts: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]
    name_server: str
    broker: str
    logback: str
    settings: tuple[tuple[str, str], ...] = ()


START_4: Final = Start(
    "org.apache.rocketmq",
    ("rocketmq-namesrv", "rocketmq-broker"),
    (("io.netty", "netty-tcnative"),),  # 4.2 and earlier name it by a property of their own build; they start without it
    "org.apache.rocketmq.namesrv.NamesrvStartup",
    "org.apache.rocketmq.broker.BrokerStartup",
    "ch.qos.logback.",
)
START_5: Final = START_4._replace(logback="org.apache.rocketmq.logging.ch.qos.logback.", settings=(("timerWheelEnable", "false"),))
"""5.x has its own copy of the logging library, and a timer wheel."""


class Line(NamedTuple):
    """The releases from `first` up to the next line, and the profile nearest to them.

    `examined`: the releases from which the profile was made, by programs performed on them or by a recording. A profile that follows
    articles has none.
    """

    first: tuple[int, ...]
    profile: str
    examined: tuple[str, ...]
    evidence: Evidence
    start: Start = START_4
    note: str = ""

    @property
    def name(self) -> str:
        """The first release, for example 4.9.4 or 5.3."""
        return ".".join(map(str, self.first))


LINES: Final = (
    Line((4, 0), "P40", (), "articles", note="Maven has 4.0.0 as 4.0.0-incubating"),
    Line((4, 1), "P410", ("4.1.0",), "programs", note="Maven has 4.1.0 as 4.1.0-incubating"),
    Line((4, 2), "P420", ("4.2.0",), "programs"),
    Line((4, 3), "P430", ("4.3.0",), "programs"),
    Line((4, 3, 1), "P432", ("4.3.1", "4.3.2"), "programs"),
    Line((4, 4), "P440", ("4.4.0",), "programs"),
    Line((4, 5), "P452", ("4.5.0", "4.5.1", "4.5.2"), "programs", note="up to 4.5.1 some settings are misspelt: maped for mapped"),
    Line((4, 6), "P460", ("4.6.0",), "programs"),
    Line((4, 6, 1), "P461", ("4.6.1",), "programs"),
    Line((4, 7), "P470", ("4.7.0",), "programs"),
    Line((4, 7, 1), "P471", ("4.7.1",), "programs"),
    Line((4, 8), "P480", ("4.8.0",), "programs"),
    Line((4, 9), "P490", ("4.9.0",), "programs"),
    Line((4, 9, 1), "P491", ("4.9.1",), "programs"),
    Line((4, 9, 2), "P492", ("4.9.2",), "programs"),
    Line((4, 9, 3), "P493", ("4.9.3",), "programs"),
    Line((4, 9, 4), "P494", ("4.9.4",), "recording"),
    Line((5, 0), "P500", ("5.0.0",), "programs", START_5),
    Line((5, 1), "P510", ("5.1.0",), "programs", START_5),
    Line((5, 1, 1), "P511", ("5.1.1",), "programs", START_5),
    Line((5, 1, 4), "P514", ("5.1.4",), "programs", START_5),
    Line((5, 2), "P520", ("5.2.0",), "programs", START_5),
    Line((5, 3), "P533", ("5.3.3",), "recording", START_5),
    Line((5, 4), "P540", ("5.4.0",), "programs", START_5),
    Line((5, 5), "P550", ("5.5.0",), "programs", START_5),
)
"""All releases that can be started, in ascending order."""


def line_of(version: str) -> Line:
    """Return the line of a release such as 4.9.7 or 5.3.3-SNAPSHOT. For releases before 4.0 it is the first line."""
    numbers = tuple(whole_number(number) for number in version.partition("-")[0].split(".") if is_digits(number))
    return next((line for line in reversed(LINES) if numbers >= line.first), LINES[0])


def is_release(text: str) -> bool:
    """Return whether a text is the number of a release of Apache RocketMQ, such as 4.9.4 or 5.3.3-SNAPSHOT."""
    return _RELEASE.fullmatch(text) is not None


def nearest_profile(version: str) -> str:
    """Return the name of the profile nearest to a release."""
    return line_of(version).profile


def is_recorded(version: str) -> bool:
    """Whether the profile of a release was made from a recording of this release."""
    line = line_of(version)
    return line.evidence == "recording" and version in line.examined


def table() -> str:
    """Return the table of releases and profiles in Markdown, as the page `properties/docs/profiles.md` shows it."""
    rows = ["| From release | Profile | Made from | Settings at the start | Note |", "| --- | --- | --- | --- | --- |"]
    for line in LINES:
        source = {"articles": "articles", "programs": "programs on ", "recording": "a recording of "}[line.evidence]
        made = source + ", ".join(line.examined)
        settings = " ".join(f"`{name}={value}`" for name, value in line.start.settings)
        rows.append(f"| {line.name} | {line.profile} | {made} | {settings or '-'} | {line.note or '-'} |")
    return "\n".join([*rows, ""])


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a release such as 4.9.7 or 4.1.0-incubating, for comparisons; () for a text that is not a release."""
    numbers = version.partition("-")[0].split(".")
    return tuple(whole_number(number) for number in numbers) if len(numbers) == 3 and all(map(is_digits, numbers)) else ()


def startable() -> tuple[str, ...]:
    """Return the releases of the table in ascending order, as Maven names them: those examined, or the first of a line without any."""
    return tuple(
        release + ("-incubating" if line.first < (4, 2) else "")
        for line in LINES
        for release in line.examined or (".".join(map(str, (*line.first, 0)[:3])),)
    )
