"""The profile of each release of Apache RocketMQ. This is the only such table; commands, pages and tests use it."""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketproof_protocol.numbers import is_digits, whole_number


class Line(NamedTuple):
    """The releases from `first` up to the next line, and the profile nearest to them."""

    first: tuple[int, ...]
    profile: str

    @property
    def name(self) -> str:
        """The first release, for example 4.9.4 or 5.3."""
        return ".".join(map(str, self.first))


LINES: Final = (
    Line((4, 0), "P40"),
    Line((4, 1), "P410"),
    Line((4, 2), "P420"),
    Line((4, 3), "P430"),
    Line((4, 3, 1), "P432"),
    Line((4, 4), "P440"),
    Line((4, 5), "P452"),
    Line((4, 6), "P460"),
    Line((4, 6, 1), "P461"),
    Line((4, 7), "P470"),
    Line((4, 7, 1), "P471"),
    Line((4, 8), "P480"),
    Line((4, 9), "P490"),
    Line((4, 9, 1), "P491"),
    Line((4, 9, 2), "P492"),
    Line((4, 9, 3), "P493"),
    Line((4, 9, 4), "P494"),
    Line((5, 0), "P500"),
    Line((5, 1), "P510"),
    Line((5, 1, 1), "P511"),
    Line((5, 1, 4), "P514"),
    Line((5, 2), "P520"),
    Line((5, 3), "P533"),
    Line((5, 4), "P540"),
    Line((5, 5), "P550"),
)
"""All releases that can be started, in ascending order."""


def nearest_profile(version: str) -> str:
    """Return the name of the profile nearest to a release such as 4.9.7 or 5.3.3-SNAPSHOT. For releases before 4.0 it is the first
    profile."""
    numbers = tuple(whole_number(number) for number in version.partition("-")[0].split(".") if is_digits(number))
    return next((line.profile for line in reversed(LINES) if numbers >= line.first), LINES[0].profile)


def table() -> str:
    """Return the table of releases and profiles in Markdown, as the page `properties/docs/profiles.md` shows it."""
    rows = [f"| {line.name} | {line.profile} |" for line in LINES]
    return "\n".join(["| From release | Profile |", "| --- | --- |", *rows, ""])
