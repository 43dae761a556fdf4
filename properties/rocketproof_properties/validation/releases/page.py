"""Write the page on changes between releases: `python -m rocketproof_properties.validation.releases.page FOLDER > PAGE`.

The page is generated from the profiles, with the sentence and the values of each switch, and from the histories in the folder.
`PROFILE-switch.ndjson.gz` is a history of a release for one switch of a profile. The reference implementation replays it twice. Under the
profile nothing differs; with the value of the preceding profile it shows the difference on the page.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocketproof_profiles import PROFILES, Profile, switches
from rocketproof_profiles.differing import SwitchChange, shown
from rocketproof_profiles.releases import LINES

from ...programs.names import ProgramNames
from .switching import RecordedProgram

SUFFIX: Final = ".ndjson.gz"
_PLACE: Final = re.compile(r", \w+\(\w+\.py:[0-9]+\)")
"""The place in the implementation that raised an error."""
_LONGEST, _BEFORE = 200, 40
"""Maximum number of characters of a value, and of the common prefix of two long values."""
_HEAD: Final = """# What changed from release to release

For operators who upgrade, and authors of brokers: what a client of Apache RocketMQ sees of a broker and a name server, where two releases
differ. Each entry is a switch of a profile. Many have a program that was run on the release, with the difference to the preceding release.
The page is generated from this data:
`python -m rocketproof_properties.validation.releases.page tests/data/releases`.

A release without an entry equals the preceding one, as far as generated programs show ([which ran](release-validations.md)). The
differences between any two releases: `rocketproof compare apache:5.3.3 apache:5.4.0`.
"""


def page(folder: Path) -> str:
    """Return the page, with the histories in a folder.

    Raises ValueError for a history that does not distinguish the values of its switch.
    """
    parts = [_HEAD]
    for name, profile in PROFILES.items():
        if not profile.base:
            continue
        parts.append(f"\n## {_title(name)}\n\n{profile.about}; compared with {profile.base}.\n")
        parts += [_entry(profile, change, folder) for change in differing(profile)]
    return "".join(parts)


def differing(profile: Profile) -> Iterator[SwitchChange]:
    """Yield the switches whose value differs from the base profile."""
    base = PROFILES[profile.base]
    for name in sentences():
        if getattr(profile, name) != getattr(base, name):
            yield SwitchChange(name, getattr(profile, name))


@cache
def sentences() -> dict[str, str]:
    """Return the sentence of each switch, from the docstrings in the profile's source."""
    (profile_class,) = (
        node for node in ast.parse(inspect.getsource(switches)).body if isinstance(node, ast.ClassDef) and node.name == "Profile"
    )
    result: dict[str, str] = {}
    for field, text in zip(profile_class.body, profile_class.body[1:], strict=False):
        docstring = text.value if isinstance(text, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(docstring, ast.Constant):
            if field.target.id in switches.SWITCHES:
                result[field.target.id] = " ".join(str(docstring.value).split())
    return result


def _title(name: str) -> str:
    first = [line.name for line in LINES if line.profile == name]
    return f"{name}, from {' and '.join(reversed(first))} on" if first else name


def _entry(profile: Profile, change: SwitchChange, folder: Path) -> str:
    before = shown(getattr(PROFILES[profile.base], change.switch))
    text = f"\n**{change.switch}**: {_value(shown(change.value))}, before {_value(before)}. {sentences()[change.switch]}\n"
    path = folder / f"{profile.name}-{change.switch}{SUFFIX}"
    if path.exists():
        return text + _shown(profile, change, path)
    reason = profile.reasons.get(change.switch, "")
    return text + (f"\nSeen by: {reason}.\n" if reason else "")


def _value(text: str) -> str:
    return f"`{textwrap.shorten(text, 100, placeholder='…')}`"


def _shown(profile: Profile, change: SwitchChange, path: Path) -> str:
    program = RecordedProgram.read(path)
    old = SwitchChange(change.switch, getattr(PROFILES[profile.base], change.switch))
    differences = program.differences(profile, (old,))
    if program.differences(profile) or not differences:
        raise ValueError(f"{path}: it is not as {profile.name} says, or does not tell {change.switch}")
    first = differences[0]
    names = program.history.names
    release = (program.history.origin.get("target") or {}).get("version", "")
    steps = "\n".join(
        f"    {name}({', '.join(f'{key}={_cut(value)}' for key, value in args.items())})" for name, args in program.program.steps
    )
    needs = f", on a broker with {program.program.needs}" if program.program.needs else ""
    where = names.bare(first.where)
    subject = f"{first.field} of {where.partition(' (')[0]}" if first.seq >= 0 else f"{first.field} ({where})"
    lines = [
        f"\nRecorded of {release}{needs}:\n\n{steps}\n",
        f"\n| {subject} | |\n| --- | --- |",
        *(f"| {who} | `{text}` |" for who, text in zip((release, "as before"), _cells(first.recorded, first.found, names), strict=True)),
        "",
    ]
    return "\n".join(lines)


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _cells(recorded: Any, replayed: Any, names: ProgramNames) -> list[str]:
    """Return two values as shown on the page. A common prefix of long values is cut, except for its end."""
    texts = [_text(value, names) for value in (recorded, replayed)]
    short = [textwrap.shorten(text, _LONGEST, placeholder="…") for text in texts]
    if "…" not in short:
        return short
    first_difference = (at for at, (first_char, second_char) in enumerate(zip(*texts, strict=False)) if first_char != second_char)
    common = max(0, next(first_difference, min(map(len, texts))) - _BEFORE)
    return [f"…{text[common : common + _LONGEST]}" for text in texts]


def _text(value: Any, names: ProgramNames) -> str:
    text = _PLACE.sub("", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return names.bare(text).replace("|", "¦").replace("`", "'")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    print(page(parser.parse_args().folder), end="")  # noqa: T201 - it is what the module is for


if __name__ == "__main__":
    main()
