"""The commands that test a broker: `validate`, `level` and `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import reporting
from .common import Count, Flag, Json, Level, Many, Natural, NotNegative, Pages, Profile, Seconds, write

if TYPE_CHECKING:
    from ..brokers.deployment import ValidationTarget
    from ..validation.report import ValidationReport
    from .explorer.pages import PageEntry

_REPORT = (
    "The folder for the report, which must be new or empty; .rocketproof/validation with a number unless given. Or a further report "
    + reporting.KINDS
)
Reports = Annotated[reporting.Reports, Parameter(help=_REPORT)]
Scopes = Annotated[tuple[str, ...], Parameter(name="--scope"), Many]
Replaced: Final = Parameter(show=False)
"""An option that a command has replaced; it works until the next version."""
_WORKERS: Final = 4


class _Reports(NamedTuple):
    """The values of `--report`, `--since` and `--html`: the folder of the report, if named, and further reports."""

    folder: Path | None
    further: reporting.Reporting


def validate(
    broker: str | None = None,
    /,
    *,
    target: str | None = None,
    pair: str | None = None,
    against: Annotated[str | None, Replaced] = None,
    nameserver: str | None = None,
    profile: Profile | None = None,
    programs: Count = 500,
    seed: Natural = 0,
    cover: Literal["transitions"] | None = None,
    scope: Scopes = (),
    report: Reports = (),
    since: Path | None = None,
    again: Path | None = None,
    resume: Path | None = None,
    self_test: Flag = False,
    level: Annotated[Flag, Replaced] = False,
    up_to: Annotated[Level | None, Replaced] = None,
    accept: Path | None = None,
    configure: Flag = False,
    shrink: NotNegative = 20.0,
    states: Count | None = None,
    time: Seconds | None = None,
    rate: Seconds | None = None,
    workers: Count | None = None,
    witnesses: bool = True,
    faults: str | None = None,
    slave: Flag = False,
    remember: bool = True,
    exitfirst: Flag = False,
    json: Json = None,
    pages: Pages = None,
) -> int:
    """Validate any broker: run generated programs on it, record the history, judge it, and report each deviation.

    The programs use their own topics and groups, whose names begin with r and six digits. A broker that was not started for the
    validation keeps them.

    Parameters
    ----------
    broker
        The address of a broker that runs, such as 127.0.0.1:10911.
    target
        What to start instead: apache:VERSION, served, inprocess, or a TOML file that describes it.
    pair
        Releases of a broker and of the name server next to it, such as apache:4.9.7+apache:5.1.0; --target takes pairs too.
    against
        The command `compare` takes its place.
    nameserver
        The address of the broker's name server; without it routes are not asked for.
    profile
        What to judge by, such as P494; P49 for an address, the target's own otherwise.
    programs
        How many programs to perform.
    seed
        Seed of the programs: the same one gives the same programs.
    cover
        Perform programs that together take every transition of the specification's small scopes that requests can cause, as many as that
        takes, and report which of them the responses show. No witnesses are replayed.
    scope
        With --cover: only the transitions of this scope; may be given several times.
    since
        A saved run, from --report run:FILE or --json FILE or the report.json of a folder: what changed since then is printed, and is in
        the reports.
    again
        Judge the histories of this report's folder again, without a broker, and write the report anew.
    resume
        Go on with the interrupted run whose report is in this folder, as it was asked for then: programs that it has recorded are not
        run again. --time, --states, --accept and --json are those of now.
    self_test
        Only try each thing that the target offers once, and print what a validation loses without the rest: for authors of a
        target's description.
    level
        The command `level` takes its place.
    up_to
        With --level: the highest level that is tried.
    accept
        A TOML file of accepted deviations.
    configure
        Programs may change settings of the running broker; they are set back.
    shrink
        Seconds for making the program of a finding smaller on the broker, and as many for leaving out drawn settings; 0 leaves it as it is.
    states
        How many states the specification's judge expands in each part of a program before it leaves the part undecided; 100,000 unless
        given. With --again what was undecided is decided with a larger bound.
    time
        Seconds after which no further program is begun.
    rate
        Requests a second at most.
    workers
        Programs at a time; 4 unless given.
    witnesses
        Replay the model's witnesses of known violations on brokers that are started for it.
    faults
        What happens to brokers that are started for it, under load behind the programs, such as kill:20,power,disk: a broker is killed; the
        power fails, and it starts on what the device may have; its disk is broken, slow or full for a while; threads: it can start none
        for a while; slave: a second broker follows the first, and one of them, or the way between them, is lost. A number says how often.
    slave
        Start a slave that follows the broker while programs run. At the end it must equal its master: topics, groups, offsets, queues
        and records. It takes up to 81 s more, because a slave requests tables only once a minute in some releases.
    remember
        Try first the programs that showed a finding in an earlier run on this target under this profile, which .rocketproof/failures
        keeps, and keep those of this run.
    exitfirst
        End after the first program with a finding that is not accepted. The finding is still repeated and shrunk.
    json
        Write the report to this file too.
    pages
        A folder for the run's page and the explorer's page of each finding's history.
    """
    from ..brokers.choose import choose, in_place_of
    from ..validation.faults import kinds

    target = in_place_of(target, pair)
    reports = _reports(report, since, pages)
    accepted = _accepted(accept)
    _refuse_mixed_modes(broker, target, reports.folder, again, resume, self_test=self_test, level=level, up_to=up_to)
    if against is not None:
        judging: dict[str, Any] = {
            "an address": broker,
            "--profile": profile,
            "--nameserver": nameserver,
            "--configure": configure,
            "--rate": rate,
        }
        judging |= {"--states": states, "--accept": accept, "--faults": faults, "--slave": slave, "--since": since, "--pages": pages}
        _refuse_judging(target, judging, report, again, resume, self_test=self_test, level=level)
        _replaced("--against", "compare")
        return _compare((against, str(target)), ("--against", "--target"), programs, seed, workers, time, shrink, reports.folder, json)
    injected = kinds.parse(faults) if faults is not None else {}
    scopes = _cover(cover, scope, saved=again is not None or resume is not None)
    if self_test:
        return _self_test(choose(broker, target, profile, configure=configure), json)
    if level:
        _replaced("--level", "level")
        return _level(choose(broker, target, profile, configure=configure), nameserver, up_to, reports, json, target)
    if again is not None:
        result = _judge_again(again, profile, accepted, states)
        return _report(result, again, reports, json, target)
    asked: dict[str, Any] = {
        "broker": broker, "target": _absolute(target), "profile": profile, "configure": configure, "nameserver": nameserver,
        "programs": programs, "seed": seed, "workers": workers or _WORKERS, "rate": rate, "shrink": shrink, "states": states,
        "witnesses": witnesses and scopes is None, "faults": injected, "remember": remember, "cover": scopes,
        "slave": slave,
    }  # fmt: skip
    result, folder = _run(asked, reports.folder, resume, time, accepted, exit_first=exitfirst)
    return _report(result, folder, reports, json, asked["target"])


def level(
    broker: str | None = None,
    /,
    *,
    target: str | None = None,
    nameserver: str | None = None,
    profile: Profile | None = None,
    configure: Flag = False,
    up_to: Level | None = None,
    report: Reports = (),
    since: Path | None = None,
    json: Json = None,
    pages: Pages = None,
) -> int:
    """Find the level that a new broker reaches, and what it needs for the next one. Takes seconds.

    There are six levels, from answering a route to recovering from kill -9.

    Parameters
    ----------
    broker
        The address of a broker that runs, such as 127.0.0.1:10911.
    target
        What to start instead: apache:VERSION, served, inprocess, or a TOML file that describes it.
    nameserver
        The address of the broker's name server.
    profile
        What to judge by, such as P494; P49 for an address, the target's own otherwise.
    configure
        Allow programs to change settings of the running broker; they are restored.
    up_to
        The highest level to try. The exit code is 0 if it is reached.
    since
        A saved run. Changes since then are printed.
    json
        Write the levels to this file.
    pages
        A folder for the HTML page of the run."""
    from ..brokers.choose import choose

    chosen = choose(broker, target, profile, configure=configure)
    return _level(chosen, nameserver, up_to, _reports(report, since, pages), json, target)


def compare(
    first: str,
    second: str,
    /,
    *,
    programs: Count = 500,
    seed: Natural = 0,
    workers: Count | None = None,
    time: Seconds | None = None,
    shrink: bool = True,
    report: Path | None = None,
    json: Json = None,
) -> int:
    """Show the differences between two targets, each with a small program and the rule concerned. Neither target is judged.

    Parameters
    ----------
    first
        A target: apache:VERSION, served, inprocess, or a TOML file that describes it.
    second
        The target to compare with.
    programs
        Number of programs to run on both.
    seed
        Seed of the programs: the same one gives the same programs.
    workers
        Programs at a time; 4 unless given.
    time
        Seconds after which no further program is begun.
    shrink
        Shrink the program of each difference.
    report
        The folder for the report, which must be new or empty. Default: a numbered folder in .rocketproof/validation.
    json
        Also write the differences to this file.
    """
    return _compare((first, second), ("compare", "compare"), programs, seed, workers, time, float(shrink), report, json)


def _reports(report: Sequence[str], since: Path | None, pages: Path | None) -> _Reports:
    """Read the report options. Raises InputError for two folders, and for a report that could not be written."""
    from ..reports.options import is_kind

    folders = [Path(text) for text in report if not is_kind(text)]
    if len(folders) > 1:
        raise InputError(f"--report {folders[0]} and --report {folders[1]}: a run has one folder; give one, and reports as KIND:PATH")
    further = reporting.asked("validate", [text for text in report if is_kind(text)], since, pages)
    return _Reports(folders[0] if folders else None, further)


def _cover(what: str | None, scopes: Sequence[str], *, saved: bool) -> list[str] | None:
    """Return the scopes to cover, none of them for all; None if programs are generated. Raises InputError."""
    if what is None:
        if scopes:
            raise InputError("--scope chooses what --cover transitions covers; give both")
        return None
    if saved:
        raise InputError("--cover begins a run; --resume and --again know from its folder what it covers, leave out --cover")
    from ..programs.cover.scopes import DRIVEN
    from ..reports.choices import known

    return [known("scope", scope, DRIVEN) for scope in scopes]


def _accepted(file: Path | None) -> Sequence[Any]:
    from ..validation import accept

    return accept.read(file) if file is not None else ()


def _absolute(target: str | None) -> str | None:
    """Return the target's name; the path of a description is absolute, so that `--resume` finds it from anywhere."""
    return str(Path(target).absolute()) if target is not None and target.endswith(".toml") else target


def _refuse_mixed_modes(
    broker: str | None, target: str | None, folder: Path | None, again: Path | None, resume: Path | None, *,
    self_test: bool, level: bool, up_to: int | None,
) -> None:  # fmt: skip
    """Raise InputError for options of two modes."""
    saved = again is not None or resume is not None
    if again is not None and (broker is not None or target is not None):
        raise InputError("--again with a broker: a saved report is judged without one; leave out one of them")
    if resume is not None and any(option is not None for option in (broker, target, folder, again)):
        raise InputError("--resume goes on with the run of its folder; leave out the broker, --target, the folder of --report and --again")
    if self_test and saved:
        raise InputError("--self-test tries a target; leave out --again and --resume")
    if level and (self_test or saved):
        raise InputError("--level tries a target; leave out --self-test, --again and --resume")
    if up_to is not None and not level:
        raise InputError("--up-to says how far --level tries; give --level too")


def _refuse_judging(
    target: str | None, judging: dict[str, Any], report: Sequence[str], again: Path | None, resume: Path | None, *,
    self_test: bool, level: bool,
) -> None:  # fmt: skip
    """Raise InputError for `--against` with an option of a judged run."""
    from ..reports.options import is_kind

    if target is None or self_test or level or again is not None or resume is not None:
        raise InputError("--against compares a target with --target; give both, without --again, --resume, --self-test and --level")
    judging |= {f"--report {text}": True for text in report if is_kind(text)}
    conflicting = next((name for name, value in judging.items() if value), None)
    if conflicting is not None:
        raise InputError(f"{conflicting} with --against: two targets are compared, and neither is judged; leave it out")


def _replaced(option: str, command: str) -> None:
    from ..reports.output import tell

    tell(f"rocketproof: {option} is now the command `rocketproof {command}`; the next version does not have the option")


def _judge_again(folder: Path, profile: str | None, accepted: Sequence[Any], states: int | None) -> ValidationReport:
    from ..reports import output
    from ..validation import again

    with output.phases() as progress:
        return again.again(folder, profile, accepted, progress, states)


def _run(
    asked: dict[str, Any],
    folder: Path | None,
    resume: Path | None,
    seconds: float | None,
    accepted: Sequence[Any],
    *,
    exit_first: bool,
) -> tuple[ValidationReport, Path]:
    """Validate the target of the options `asked`, or resume the run in the folder `resume`. Adds that run's options to `asked`.

    Return the report and its folder. Raises InputError and TargetError.
    """
    from ..brokers.choose import choose

    chosen = None
    if resume is None:  # a wrong target is reported before the validation is loaded
        chosen = choose(asked["broker"], asked["target"], asked["profile"], configure=asked["configure"])
    from ..conformance.witnesses.known import WITNESSES
    from ..reports import failures, output
    from ..validation import memory
    from ..validation import resume as resuming
    from ..validation.report import next_folder
    from ..validation.validate import STATES, ValidationRequest, tried_first, validate

    if resume is not None:
        asked |= {**resuming.read(resume), **({"states": asked["states"]} if asked["states"] is not None else {})}
    with output.phases_and_findings() as (progress, found):
        place = resume or folder or next_folder()
        chosen = chosen or choose(asked["broker"], asked["target"], asked["profile"], configure=asked["configure"])
        memory_file = memory.file_of(chosen.name, chosen.profile)
        remembers = asked.get("remember", True)
        if remembers and "remembered" not in asked:
            asked["remembered"] = failures.read(memory_file)
        common = {name: asked[name] for name in ("programs", "seed", "workers", "rate", "shrink", "faults")}
        request = ValidationRequest(
            chosen, place, **common, seconds=seconds, states=asked["states"] or STATES, name_server=asked["nameserver"], accepted=accepted,
            witnesses=WITNESSES if asked["witnesses"] else (), asked=asked, resumes=resume is not None, audits=True,
            remembered=memory.programs(asked.get("remembered", ())),
            exit_first=exit_first, cover=asked.get("cover"), slave=asked.get("slave", False),
        )  # fmt: skip
        result = validate(request, progress, found)
        if remembers:
            result.notes += filter(None, [memory.keep(result, tried_first(request), memory_file)])
    return result, place


def _report(report: ValidationReport, folder: Path, reports: _Reports, json: Path | None, target: str | None) -> int:
    """Print and write a report; return its exit code."""
    from ..validation import results, show

    write(json, report.data())
    with reports.further.printing():
        show.render(report, folder)
    reports.further.write(lambda: results.run(report.data(), folder), lambda: _pages(folder), source=_target_file(target))
    return report.exit_code


def _target_file(target: str | None) -> str:
    """Return the file that describes the target, "" if none does."""
    return target if target is not None and target.endswith(".toml") else ""


def _pages(report: Path) -> Sequence[PageEntry]:
    from .explorer.pages import of_validation

    return of_validation(report)


def _level(
    target: ValidationTarget, nameserver: str | None, up_to: int | None, reports: _Reports, json: Path | None, name: str | None
) -> int:
    """Find the highest level that the target reaches, and print it. Raises TargetError if the target cannot be set up."""
    from ..reports import output
    from ..validation import levelreport, levels, leveltrials, report
    from ..validation.validate import mark

    folder = reports.folder or report.next_folder()
    report.prepare(folder)
    with output.phases() as progress:
        result = leveltrials.try_levels(
            target, folder, mark(), wanted=up_to or len(levels.LEVELS), name_server=nameserver, progress=progress
        )
    write(json, result.data())
    with reports.further.printing():
        levelreport.render(result, folder)
    reports.further.write(lambda: levelreport.run(result), source=_target_file(name))
    return result.exit_code


def _compare(
    targets: tuple[str, str], options: tuple[str, str], programs: int, seed: int, workers: int | None, seconds: float | None,
    shrink: float, report: Path | None, json: Path | None,
) -> int:  # fmt: skip
    """Compare two targets. `options` are the options that name them in errors. Raises InputError and TargetError."""
    from ..brokers.choose import choose_named
    from ..reports import output
    from ..validation.releases import against, show
    from ..validation.releases.smaller import write_report
    from ..validation.report import next_folder

    folder = report or next_folder()
    first, second = (choose_named(name, None, option) for name, option in zip(targets, options, strict=True))
    rounds = against.ROUNDS if shrink > 0 else 0
    request = against.AgainstRequest(first, second, folder, programs, seed, workers or _WORKERS, seconds, rounds)
    with output.phases() as progress:
        result = against.against(request, progress)
    data = result.data(folder)
    write(json, data)
    write_report(folder / against.REPORT, data)
    show.render_differences(result, folder)
    return result.exit_code


def _self_test(target: ValidationTarget, json: Path | None) -> int:
    """Try each capability of the target once. Raises TargetError if the target cannot be set up."""
    from ..brokers import selftest
    from ..validation import show

    trials, stopped = show.render_self_test(target, selftest.self_test(target))
    code = exit_code(findings=any(not trial.works for trial in trials), undecided=stopped)
    write(json, selftest.data(target, trials, code))
    return code
