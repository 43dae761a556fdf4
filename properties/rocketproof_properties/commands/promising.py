"""The command about promises: what RocketMQ promises, and where which release breaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..reports.choices import InputError, known
from ..reports.exitcode import OK
from .common import Flag, Json, Many, Profile, write

if TYPE_CHECKING:
    from pathlib import Path

    from ..reports.output import Page
    from ..validation.promises import BrokenPromise


def promises(
    ids: Annotated[tuple[str, ...], Parameter(name="id")] = (),
    /,
    *,
    broken: Flag = False,
    profile: Profile | None = None,
    durability: Flag = False,
    target: Annotated[tuple[str, ...], Many] = (),
    markdown: Json = None,
    json: Json = None,
) -> int:
    """Show what RocketMQ promises in every release, and where which release breaks it.

    With --durability instead: which acknowledged messages survive a kill, a power loss, a changed byte, a full disk and the promotion of a
    slave, by release line and flush mode. This takes minutes; --profile selects one line.

    Parameters
    ----------
    ids
        The promises to show with source, formula and the smallest program, such as PRO-32. Default: all, in one line each.
    broken
        List only promises that a release breaks.
    profile
        List only violations by this profile's release line, such as P494 or 4.9.4.
    durability
        Measure the table of durability on the reference implementation.
    target
        With --durability: also measure this target, such as apache:4.9.4; may be repeated.
    markdown
        With --durability: write the page with the tables to this file.
    json
        Also write the promises to this file.
    """
    if durability:
        if ids or broken or json is not None:
            extra = ids[0] if ids else "--broken" if broken else "--json"
            raise InputError(f"{extra} does not belong to --durability, whose table --markdown writes; leave it out")
        return _durability(profile, target, markdown)
    if target or markdown is not None:
        raise InputError(f"{'--target' if target else '--markdown'} belongs to --durability; add it, or leave the option out")
    from ..catalogue.promises.broken import line_number
    from ..catalogue.promises.statements import promises as stated
    from ..reports.output import Page, counted
    from ..validation import promises as documented

    by_id = {promise.id: promise for promise in stated()}
    chosen = [by_id[known("promise", id_.upper(), by_id)] for id_ in ids] or list(stated())
    number = None if profile is None else line_number(profile)
    found = {
        promise: [
            each for each in documented.broken() if each.promise is promise and (number is None or number in each.lines)
        ]
        for promise in chosen
    }  # fmt: skip
    shown = [promise for promise in chosen if found[promise] or not broken]
    write(json, (_record(promise, found[promise], documented.formulas(promise)) for promise in shown))
    page, theme = Page(), ""
    for promise in shown:
        if promise.theme != theme:
            theme = promise.theme
            page.line(theme, "bold")
        page.wrapped(promise.sentence, first=f"  {promise.id}  ", indent=10)
        for each in found[promise]:
            page.wrapped(_where(each), first="          broken in ", indent=12)
        if ids:
            _details(page, promise, found[promise], documented.formulas(promise))
    breaking = sum(bool(found[promise]) for promise in shown)
    at = "" if profile is None else f" by {profile}"
    page.line(f"{counted(len(shown), 'promise')}, {breaking} broken{at or ' by some release'}", "bold")
    if not ids:
        page.line("source, formula and programs of one of them: rocketproof promises ID", "dim")
    return OK


def _durability(profile: str | None, targets: tuple[str, ...], markdown: Path | None) -> int:
    """Measure and show the durability table. Exit code 3 if a started target could not be measured."""
    from rocketproof_profiles.releases import LINES

    from ..brokers.choose import choose_named
    from ..catalogue.promises.broken import line_number
    from ..reports import output
    from ..reports.files import replace_text
    from ..validation.durability import table

    chosen = [choose_named(name, None) for name in targets]
    profiles = [line.profile for line in LINES] if profile is None else [LINES[line_number(profile)].profile]
    with output.phases() as progress:
        rows = table.of_lines(profiles, progress)
        real = [row for target in chosen for row in table.of_target(target, progress)]
    options = "".join(f" --target {name}" for name in targets) + ("" if profile is None else f" --profile {profile}")
    page = table.markdown(rows, real, f"rocketproof promises --durability{options} --markdown FILE")
    if markdown is not None:
        replace_text(markdown, page, "--markdown")
    else:
        output.write(page)
    return table.exit_code(real)


def _where(one: BrokenPromise) -> str:
    condition = f" ({one.condition})" if one.condition else ""
    bug = f"; rocketproof zoo {one.bug}" if one.bug else ""
    return f"{one.releases}{condition}: {one.reason}{bug}"


def _details(page: Page, promise: Any, found: list[BrokenPromise], formulas: list[tuple[str, str]]) -> None:
    """Print the source, the formulas, and the smallest program of each violation."""
    page.wrapped(promise.source, first="    source   ", indent=13)
    for name, text in formulas:
        page.wrapped(text, first=f"    formula  {name}: ", indent=13)
    for each in found:
        if each.program:
            page.line(f"    program  {each.releases}")
            for step, args in each.program:
                page.wrapped(f"{step}({', '.join(f'{key}={value!r}' for key, value in args.items())})", first=" " * 13, indent=15)


def _record(promise: Any, found: list[BrokenPromise], formulas: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "id": promise.id,
        "theme": promise.theme,
        "sentence": promise.sentence,
        "source": promise.source,
        "formulas": [{"over": name, "text": text} for name, text in formulas],
        "broken": [each.record() for each in found],
    }
