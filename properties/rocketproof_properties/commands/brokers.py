"""Commands about brokers that listen: run ours, validate any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.exitcode import OK, exit_code
from . import reporting
from .common import Count, Flag, Json, Level, Many, Natural, NotNegative, Pages, Profile, Seconds, Settings, write

if TYPE_CHECKING:
    from ..brokers.deployment import ValidationTarget
    from .explorer.pages import PageEntry

_REPORT = (
    "The folder for the report, which must be new or empty; .rocketproof/validation with a number unless given. Or a further report "
    + reporting.KINDS
)


def serve(
    *,
    brokers: int = 1,
    store: Path = Path(".rocketproof/brokers"),
    port: int = 10911,
    nameserver_port: int = 9876,
    no_nameserver: Flag = False,
    nameserver: Annotated[tuple[str, ...], Many] = (),
    cluster: str = "DefaultCluster",
    profile: Profile = "P49",
    settings: Settings = (),
    listen: str = "127.0.0.1",
    beyond_this_machine: Flag = False,
    connections: Count = 1024,
    unread: Count = 32,
    quiet: Flag = False,
    json: Json = None,
) -> int:
    """Run the reference implementation as a name server and brokers that real clients can talk to, until Ctrl-C.

    One line shows what became of each request: the rules it went through, and its answer.

    Parameters
    ----------
    brokers
        How many brokers: broker-a, broker-b and so on; 0 for a name server alone.
    store
        The folder of the store. One broker has it to itself, several have a folder each in it.
    port
        The first broker's port; it takes the next one and that two below too, and each further broker is 10 higher. 0 for any free ports.
    nameserver_port
        The name server's port, or 0 for any free one.
    no_nameserver
        Start no name server.
    nameserver
        The address of a name server elsewhere, where the brokers register too; may be repeated.
    cluster
        The name of the brokers' cluster.
    profile
        Whose behaviour, such as P494.
    settings
        A setting of all brokers by RocketMQ's name, such as brokerPermission=4; may be repeated.
    listen
        The address to listen at.
    beyond_this_machine
        Confirm that --listen names an address that other machines can reach.
    connections
        How many connections each part serves at a time.
    unread
        How many MiB of answers a connection may leave unread; it is closed when more wait. All connections of a part together may leave
        128 MiB, or this if it is more; the one that leaves most is closed then.
    quiet
        Tell nothing of requests, which is much quicker.
    json
        Write the addresses to this file as soon as everything is ready.
    """
    from ..brokers import serve as serving

    wanted = serving.ServeOptions(
        store,
        brokers=brokers,
        port=port,
        name_server_port=None if no_nameserver else nameserver_port,
        name_servers=nameserver,
        cluster=cluster,
        profile=profile,
        settings=settings,
        host=listen,
        connections=connections,
        unread=unread * 1024 * 1024,
    )
    serving.command(wanted, quiet=quiet, beyond=beyond_this_machine, json=json)
    return OK


def validate(
    broker: str | None = None,
    /,
    *,
    target: str | None = None,
    pair: str | None = None,
    against: str | None = None,
    nameserver: str | None = None,
    profile: Profile | None = None,
    programs: Count = 500,
    seed: Natural = 0,
    report: Annotated[reporting.Reports, Parameter(help=_REPORT)] = (),
    since: Path | None = None,
    again: Path | None = None,
    resume: Path | None = None,
    self_test: Flag = False,
    level: Flag = False,
    up_to: Level | None = None,
    accept: Path | None = None,
    configure: Flag = False,
    shrink: NotNegative = 20.0,
    states: Count | None = None,
    time: Seconds | None = None,
    rate: Seconds | None = None,
    workers: Count | None = None,
    witnesses: bool = True,
    faults: str | None = None,
    remember: bool = True,
    json: Json = None,
    pages: Pages = None,
) -> int:
    """Validate any broker: send programs, record what happens, judge it, and report what is not as described.

    Topics and groups of the programs have names of their own, which begin with r and six digits. On a broker that was not started
    for this they stay.

    Parameters
    ----------
    broker
        The address of a broker that runs, such as 127.0.0.1:10911.
    target
        What to start instead: apache:VERSION, served, inprocess, or a TOML file that describes it.
    pair
        Releases of a broker and of the name server beside it, such as apache:4.9.7+apache:5.1.0; as --target, which takes pairs too.
    against
        Another target, as --target: say what the two do otherwise, each with a small program and the rule concerned, and judge neither.
        --programs, --seed, --workers, --time, --shrink 0, --report and --json are as without it.
    nameserver
        The address of the broker's name server; without it routes are not asked for.
    profile
        What to judge by, such as P494; P49 for an address, the target's own otherwise.
    programs
        How many programs to perform.
    seed
        Seed of the programs: the same one gives the same programs.
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
        Only find out how far the broker comes on a ladder of six levels, from answering a route to recovering from kill -9, and what
        it needs for the next one: for a broker that is young. Takes seconds.
    up_to
        With --level: the highest level that is tried; the exit code is 0 if it is reached.
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
    remember
        Try first the programs that showed a finding in an earlier run on this target under this profile, which .rocketproof/failures
        keeps, and keep those of this run.
    json
        Write the report to this file too.
    pages
        A folder for the run's page and the explorer's page of each finding's history.
    """
    from ..brokers.choose import choose, in_place_of
    from ..reports.options import is_kind
    from ..validation import accept as accepting
    from ..validation.faults import kinds

    target = in_place_of(target, pair)
    folders = [Path(one) for one in report if not is_kind(one)]
    if len(folders) > 1:
        raise InputError(f"--report {folders[0]} and --report {folders[1]}: a run has one folder; give one, and reports as KIND:PATH")
    reports = reporting.asked("validate", [one for one in report if is_kind(one)], since, pages)
    wanted = folders[0] if folders else None
    accepted = accepting.read(accept) if accept is not None else ()
    if again is not None and (broker is not None or target is not None):
        raise InputError("--again with a broker: a saved report is judged without one; leave out one of them")
    if resume is not None and any(one is not None for one in (broker, target, wanted, again)):
        raise InputError("--resume goes on with the run of its folder; leave out the broker, --target, the folder of --report and --again")
    if self_test and any(one is not None for one in (again, resume)):
        raise InputError("--self-test tries a target; leave out --again and --resume")
    if level and (self_test or any(one is not None for one in (again, resume))):
        raise InputError("--level tries a target; leave out --self-test, --again and --resume")
    if up_to is not None and not level:
        raise InputError("--up-to says how far --level tries; give --level too")
    if against is not None:
        if target is None or self_test or level or any(one is not None for one in (again, resume)):
            raise InputError("--against compares a target with --target; give both, without --again, --resume, --self-test and --level")
        judging: dict[str, object] = {
            "an address": broker,
            "--profile": profile,
            "--nameserver": nameserver,
            "--configure": configure,
            "--rate": rate,
            "--states": states,
        }
        judging |= {"--accept": accept, "--faults": faults, "--since": since, "--pages": pages}
        judging |= {f"--report {one}": True for one in report if is_kind(one)}
        odd = next((name for name, given in judging.items() if given), None)
        if odd is not None:
            raise InputError(f"{odd} with --against: two targets are compared, and neither is judged; leave it out")
        from .releases import differences

        return differences(
            (against, target), programs=programs, seed=seed, workers=workers or 4, seconds=time, shrink=shrink > 0, report=wanted, json=json
        )
    asked: dict[str, Any] = {
        "broker": broker,
        "target": str(Path(target).absolute()) if target is not None and target.endswith(".toml") else target,
        "profile": profile,
        "configure": configure,
        "nameserver": nameserver,
        "programs": programs,
        "seed": seed,
        "workers": workers or 4,
        "rate": rate,
        "shrink": shrink,
        "states": states,
        "witnesses": witnesses,
        "faults": kinds.parse(faults) if faults is not None else {},
        "remember": remember,
    }
    if self_test:
        return _self_test(choose(broker, target, profile, configure=configure), json)
    if level:
        return _level(choose(broker, target, profile, configure=configure), wanted, nameserver, up_to, reports, json, target)
    chosen = choose(broker, target, profile, configure=configure) if again is None and resume is None else None
    from ..conformance.witnesses.known import WITNESSES
    from ..reports import failures, output
    from ..validation import again as once_more
    from ..validation import memory, results, show
    from ..validation import resume as resuming
    from ..validation import validate as validating
    from ..validation.report import next_folder

    if resume is not None:
        asked = {**asked, **resuming.read(resume), **({"states": states} if states is not None else {})}
    with output.phases() as progress:
        if again is not None:
            folder, found = again, once_more.again(again, profile, accepted, progress, states)
        else:
            folder = resume or wanted or next_folder()
            chosen = chosen or choose(asked["broker"], asked["target"], asked["profile"], configure=asked["configure"])
            kept = memory.file_of(chosen.name, chosen.profile)
            if asked.get("remember", True) and "remembered" not in asked:
                asked["remembered"] = failures.read(kept)
            request = validating.ValidationRequest(
                chosen,
                folder,
                programs=asked["programs"],
                seed=asked["seed"],
                workers=asked["workers"],
                seconds=time,
                rate=asked["rate"],
                shrink=asked["shrink"],
                states=asked["states"] or validating.STATES,
                name_server=asked["nameserver"],
                accepted=accepted,
                witnesses=WITNESSES if asked["witnesses"] else (),
                faults=asked["faults"],
                asked=asked,
                resumes=resume is not None,
                audits=True,
                remembered=memory.programs(asked.get("remembered", ())),
            )
            found = validating.validate(request, progress)
            if asked.get("remember", True):
                found.notes += filter(None, [memory.keep(found, validating.tried_first(request), kept)])
    write(json, found.data())
    with reports.printing():
        show.render(found, folder)
    reports.write(lambda: results.run(found.data(), folder), lambda: _pages(folder), source=_target_file(asked["target"]))
    return found.exit_code


def _target_file(target: str | None) -> str:
    """The file that describes the target, "" where none does."""
    return target if target is not None and target.endswith(".toml") else ""


def _pages(report: Path) -> Sequence[PageEntry]:
    """The explorer's pages of a report's findings."""
    from .explorer.pages import of_validation

    return of_validation(report)


def _level(
    target: ValidationTarget,
    wanted: Path | None,
    nameserver: str | None,
    up_to: int | None,
    reports: reporting.Reporting,
    json: Path | None,
    named: str | None,
) -> int:
    """Try the ladder, and tell how far the target came. Raises TargetError if it cannot be set up at all."""
    from ..reports import output
    from ..validation import climb, ladder, report, showlevels
    from ..validation.validate import mark

    folder = wanted or report.next_folder()
    report.prepare(folder)
    with output.phases() as progress:
        found = climb.climb(target, folder, mark(), wanted=up_to or len(ladder.LEVELS), name_server=nameserver, progress=progress)
    write(json, found.data())
    with reports.printing():
        showlevels.render(found, folder)
    reports.write(lambda: showlevels.run(found), source=_target_file(named))
    return found.exit_code


def _self_test(target: ValidationTarget, json: Path | None) -> int:
    """Try the target, telling of each thing as it is tried. Raises TargetError if it cannot be set up at all."""
    from ..brokers import selftest
    from ..validation import show

    found, stopped = show.render_self_test(target, selftest.self_test(target))
    code = exit_code(findings=any(not one.works for one in found), undecided=stopped)
    write(json, selftest.data(target, found, code))
    return code
