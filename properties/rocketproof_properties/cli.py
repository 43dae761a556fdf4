"""The command line. Exit codes: 0 all as expected; 1 a verdict differs; 2 bad usage or input; 3 stopped before a decision.

This module only declares commands. What a command needs is imported when it runs, so that `--help` and mistakes in the
options are answered at once.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from rocketproof_model import RocketproofError

from .choices import InputError

OK, DIFFERS, USAGE, STOPPED = 0, 1, 2, 3

app = App(
    name="rocketproof",
    help="Check what RocketMQ's topic creation, routing and append do: a model by search and by z3, an implementation by programs and "
    "recordings; or check a model of your own.",
    version_flags=["--version"],
    suppress_keyboard_interrupt=False,
)
bench = App(name="bench", help="Measure the engines.", suppress_keyboard_interrupt=False)
app.command(bench)

Many = Parameter(negative=(), consume_multiple=False)


@app.command
def check(
    file: str | None = None,
    /,
    *,
    property: Annotated[list[str] | None, Many] = None,
    profile: Annotated[list[str] | None, Many] = None,
    scope: str | None = None,
    engine: str | None = None,
    condition: str | None = None,
    seed: int = 0,
    time: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    json: Path | None = None,
    witnesses: Path | None = None,
) -> int:
    """Decide properties and compare the verdicts with the expected ones.

    Parameters
    ----------
    file
        A Python file with a model of your own; without it the built-in specification is checked.
    property
        Only the property with this id; may be repeated.
    profile
        Only this profile, such as P49; may be repeated.
    scope
        The finite sizes to check in, instead of those that the catalogue names.
    engine
        explicit, symbolic, simulate, stateful or all, instead of those that the catalogue names.
    condition
        Only verdicts under this condition (its words, or some of them).
    seed
        Seed of the simulation.
    time
        Seconds after which the run stops; what is undecided then is unknown.
    memory
        Megabytes that an engine may use for its states; three quarters of the free memory unless given.
    workers
        Threads of the search; all cores unless given.
    json
        Write the verdicts to this file.
    witnesses
        Folder for witness files; .rocketproof/witnesses unless given.
    """
    _positive("--time", time)
    _positive("--memory", memory)
    _positive("--workers", workers)
    if seed < 0:
        raise InputError(f"--seed {seed} is negative; give 0 or more")
    from . import matrix, output, store
    from .plan import Request, plan

    folder = witnesses or store.DEFAULT_FOLDER
    store.check_folder(folder)
    if json is not None:
        store.check_writable(json)
    chosen = plan(Request(file, tuple(property or ()), tuple(profile or ()), scope, engine, condition))
    settings = matrix.Settings(
        seconds=time,
        memory=memory * 1024 * 1024 if memory is not None else matrix.default_memory(),
        workers=workers or _cores(),
        seed=seed,
        witnesses=folder,
    )
    with output.ProgressLine() as line:
        report = matrix.run(chosen.tasks, line, settings)
    if json is not None:
        store.write_json(json, (row.record() for row in report.rows))
    output.print_report(report, chosen.left_out)
    return report.exit_code


@app.command
def show(witness: str, /, *, width: int | None = None) -> int:
    """Show a witness: what changed at each step, who acted, and whether the property held along the way.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    width
        Columns to print in, instead of the terminal's.
    """
    _positive("--width", width)
    from rich.console import Console

    from rocketproof_traces.show import render, story

    from . import output, store

    if witness.endswith(".py"):
        output.print_program(store.read_program(witness), witness)
        return OK
    found = store.load(witness)
    more = f"rocketproof explain {shlex.quote(witness)} --step 1" if found.moves else ""
    render(story(found), Console(width=width, highlight=False), more)
    return OK


@app.command
def explain(witness: str, /, *, step: int, why_not: str | None = None, width: int | None = None) -> int:
    """Explain a step of a witness: what could happen before it, and which guard refuses an action that could not.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    step
        The step, counted from 1; one more than the last is the state at the end.
    why_not
        An action with its arguments, such as 'refresh(p=1)'.
    width
        Columns to print in, instead of the terminal's.
    """
    _positive("--width", width)
    from rich.console import Console

    from rocketproof_traces import explain as explaining

    from . import store

    found = explaining.explain(store.load(witness), step, why_not)
    explaining.render(found, Console(width=width, highlight=False))
    return OK


@app.command
def picture(witness: str, /, *, output: Path) -> int:
    """Draw a witness as a sequence diagram (SVG).

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    output
        The file to write.
    """
    from rocketproof_traces.files import replace_text
    from rocketproof_traces.picture import svg

    from . import store

    replace_text(output, svg(store.load(witness)))
    return OK


@app.command
def graph(
    file: str | None = None,
    /,
    *,
    scope: str | None = None,
    profile: str | None = None,
    form: Annotated[Literal["dot", "graphml"], Parameter(name="--format")] = "dot",
    output: Path | None = None,
    states: int = 5_000,
) -> int:
    """Write the state graph of a small scope for Graphviz, networkx, Gephi or yEd.

    Parameters
    ----------
    file
        A Python file with a model of your own; without it the built-in specification.
    scope
        The finite sizes; `tiny` for the specification, the first scope of a file unless given.
    profile
        The profile of the specification, P49 unless given.
    form
        dot or graphml.
    output
        The file to write; standard output unless given.
    states
        Refuse graphs with more states than this.
    """
    _positive("--states", states)
    from rocketproof_traces import graph as graphs
    from rocketproof_traces.files import replace_text

    from . import sources

    subject = sources.choose(file, scope, profile).subject()
    made = graphs.state_graph(subject.instance, states, subject.properties)
    text = graphs.to_dot(made) if form == "dot" else graphs.to_graphml(made)
    if output is None:
        sys.stdout.write(text)
    else:
        replace_text(output, text)
    return OK


@app.command
def judge(file: Path, /, *, profile: str, limit: int = 1_000_000, json: Path | None = None) -> int:
    """Judge what a real or simulated broker answered: does the specification explain it?

    Parameters
    ----------
    file
        Recorded cases, one JSON object a line, or a history of concurrent requests.
    profile
        The profile to judge by, such as P494.
    limit
        How many states of a history the judge may expand before it gives up.
    json
        Write the judgement to this file.
    """
    from rocketproof_profiles import PROFILES

    from . import output, store
    from .choices import known

    profile = known("profile", profile, PROFILES)
    _positive("--limit", limit)
    if json is not None:
        store.check_writable(json)
    from rocketproof_traces import histories, history
    from rocketproof_traces import judge as judging

    if history.is_history(file):
        header, events = history.read(file)
        with output.counting("judging answer") as report:
            verdict = histories.judge_history(header, list(events), profile, limit, report)
        if json is not None:
            store.write_json(json, verdict.data())
        output.print_verdict(verdict)
        return {"ok": OK, "illegal": DIFFERS, "unknown": STOPPED}[verdict.verdict]
    with output.counting("judging case") as report:
        found = judging.judge(file, profile, report)
    if json is not None:
        store.write_json(json, found.data())
    output.print_judgement(found)
    return DIFFERS if found.unexplained else OK


@app.command(name="test")
def run_tests(
    *,
    profile: str = "P49",
    recording: Path | None = None,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=(), consume_multiple=False)] = None,
    programs: int | None = None,
    seed: int = 0,
    time: float | None = None,
    workers: int | None = None,
    json: Path | None = None,
) -> int:
    """Test the reference implementation: against a recording of a real broker, or against the specification.

    Parameters
    ----------
    profile
        The profile to test, such as P494.
    recording
        A file of recorded cases: each request is sent to the implementation, and the answers are compared. Without it,
        programs of the specification are generated and performed on both.
    settings
        A setting of the recorded brokers by RocketMQ's name, such as brokerPermission=4, or of those of one cfg, such as
        N:brokerPermission=4; may be repeated.
    programs
        How many programs to generate; 5000 unless given.
    seed
        Seed of the programs.
    time
        Seconds after which the generation stops.
    workers
        Processes that perform programs; all cores unless given.
    json
        Write every case, or every verdict, to this file.
    """
    from . import output, store

    _positive("--programs", programs)
    _positive("--time", time)
    _positive("--workers", workers)
    if seed < 0:
        raise InputError(f"--seed {seed} is negative; give 0 or more")
    if recording is not None and programs is not None:
        raise InputError("--programs with --recording: a recording is replayed as it is; leave out one of them")
    if recording is None and settings:
        raise InputError("--set without --recording: programs choose their own settings; give --recording FILE or leave it out")
    if json is not None:
        store.check_writable(json)
    if recording is None:
        from .stateful import programs as generated

        return generated.command(
            profile=profile, programs=programs or 5000, seed=seed, workers=workers or _cores(), seconds=time, json=json
        )
    from rocketproof_profiles import PROFILES

    from .choices import known
    from .recorded import replay as recorded

    with output.counting("replaying case") as report:
        found = recorded.replay(recording, known("profile", profile, PROFILES), tuple(settings or ()), report)
    if json is not None:
        store.write_json(json, (one.data() for one in found.outcomes))
    output.print_replay(found)
    return DIFFERS if found.different else OK


@app.command
def replay(witness: str, /, *, json: Path | None = None) -> int:
    """Perform a witness step by step on the reference implementation.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    json
        Write how far it went to this file.
    """
    from . import output, store

    if json is not None:
        store.check_writable(json)
    from .stateful.replay import replay_witness

    source, found = store.load_with_source(witness)
    done = replay_witness(source, found, output.performed)
    if json is not None:
        store.write_json(json, done.data())
    output.print_replayed(done)
    return OK if done.agrees else DIFFERS


@app.command
def hazard(*ids: str, profile: str | None = None, json: Path | None = None) -> int:
    """Show known hazards of the described system: each a short program on a simulated cluster, with every fact asserted.

    Parameters
    ----------
    ids
        The hazards to show step by step, such as HAZ-07; without any, all are performed and listed in a line each.
    profile
        The profile to show them in, instead of each hazard's own.
    json
        Write the hazards with their steps to this file.
    """
    from rocketproof_profiles import PROFILES

    from . import store
    from .choices import known
    from .hazards import HAZARDS, chosen, gallery, report

    if profile is not None:
        profile = known("profile", profile, PROFILES)
    if json is not None:
        store.check_writable(json)
    found = [gallery.perform(one, one.profile(profile)) for one in chosen(ids, profile)]
    if json is not None:
        store.write_json(json, (told.data() for told in found))
    if ids:
        report.print_stories(found)
    else:
        report.print_list(found, len(HAZARDS) - len(found))
    return DIFFERS if any(told.finding for told in found) else OK


@app.command
def mutate(
    *ids: str,
    json: Path | None = None,
    workers: int | None = None,
    time: float | None = None,
    tests: Path = Path("tests"),
) -> int:
    """Change the implementation in small ways and see whether the tests notice each change.

    Parameters
    ----------
    ids
        The mutants to try, such as M-01; all unless given.
    json
        Write what came of each mutant to this file.
    workers
        Processes that run tests; all cores unless given.
    time
        Seconds after which the run stops; what is undecided then is named.
    tests
        The folder of the tests.
    """
    _positive("--workers", workers)
    _positive("--time", time)
    from . import output, store

    if json is not None:
        store.check_writable(json)
    from .patches import campaign, registry

    chosen = registry.mutants(ids)
    with output.phases() as progress:
        report = campaign.mutate(chosen, tests, workers or _cores(), time, progress)
    if json is not None:
        store.write_json(json, (row.record() for row in report.rows))
    output.print_mutants(report)
    return report.exit_code


@app.command
def requirements(
    *,
    results: Path | None = None,
    tests: Path | None = None,
    json: Path | None = None,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
) -> int:
    """Say for every rule of the described behaviour where it is implemented and which tests passed for it.

    Parameters
    ----------
    results
        What a run of `pytest --requirements=FILE` wrote; without it the marked tests are run.
    tests
        The folder of the tests to run, instead of the project's.
    json
        Write the rules with their evidence to this file.
    every
        List every rule, not only those without code or without a passed test.
    """
    if results is not None and tests is not None:
        raise InputError("--tests with --results: with results no test is run; leave out one of them")
    from . import output, store
    from . import requirements as requiring

    if json is not None:
        store.check_writable(json)
    found = requiring.requirements(requiring.read(results) if results is not None else requiring.run_tests(tests))
    if json is not None:
        store.write_json(json, (one.record() for one in found))
    output.print_requirements(found, every)
    return DIFFERS if any(one.is_gap for one in found) else OK


@app.command
def serve(
    *,
    brokers: int = 1,
    store: Path = Path(".rocketproof/brokers"),
    port: int = 10911,
    nameserver_port: int = 9876,
    no_nameserver: Annotated[bool, Parameter(negative=())] = False,
    nameserver: Annotated[list[str] | None, Many] = None,
    cluster: str = "DefaultCluster",
    profile: str = "P49",
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=(), consume_multiple=False)] = None,
    listen: str = "127.0.0.1",
    beyond_this_machine: Annotated[bool, Parameter(negative=())] = False,
    connections: int = 1024,
    quiet: Annotated[bool, Parameter(negative=())] = False,
    json: Path | None = None,
) -> int:
    """Run the reference implementation as a name server and brokers that real clients can talk to, until Ctrl-C.

    One line tells what became of each request: the rules it went through, and its answer.

    Parameters
    ----------
    brokers
        How many brokers: broker-a, broker-b and so on; 0 for a name server alone.
    store
        The folder of the store. One broker has it to itself, several have a folder each in it.
    port
        The first broker's port; it takes the next one too, and each further broker is 10 higher. 0 for any free ports.
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
    quiet
        Tell nothing of requests, which is much quicker.
    json
        Write the addresses to this file as soon as everything is ready.
    """
    from rocketproof_profiles import PROFILES

    from . import serve as serving
    from .choices import known
    from .store import check_writable

    _positive("--connections", connections)
    if json is not None:
        check_writable(json)
    wanted = serving.Wanted(
        store,
        brokers=brokers,
        port=port,
        name_server_port=None if no_nameserver else nameserver_port,
        name_servers=tuple(nameserver or ()),
        cluster=cluster,
        profile=known("profile", profile, PROFILES),
        settings=tuple(settings or ()),
        host=listen,
        connections=connections,
    )
    serving.command(wanted, quiet=quiet, beyond=beyond_this_machine, json=json)
    return OK


@app.command
def validate(
    broker: str | None = None,
    /,
    *,
    target: str | None = None,
    nameserver: str | None = None,
    profile: str | None = None,
    programs: int = 500,
    seed: int = 0,
    report: Path | None = None,
    again: Path | None = None,
    accept: Path | None = None,
    configure: Annotated[bool, Parameter(negative=())] = False,
    shrink: float = 20.0,
    time: float | None = None,
    rate: float | None = None,
    workers: int | None = None,
    witnesses: bool = True,
    kills: int = 0,
    json: Path | None = None,
) -> int:
    """Validate any broker: send programs, record what happens, judge it, and report what is not as described.

    Topics and groups of the programs have names of their own, which begin with r and six digits. On a broker that was not started
    for this they stay.

    Parameters
    ----------
    broker
        The address of a broker that runs, such as 127.0.0.1:10911.
    target
        What to start instead: apache:VERSION, served, inprocess, or a file in TOML that tells how.
    nameserver
        The address of the broker's name server; without it routes are not asked for.
    profile
        What to judge by, such as P494; P49 for an address, the target's own otherwise.
    programs
        How many programs to perform.
    seed
        Seed of the programs: the same one gives the same programs.
    report
        The folder for the report, which must be new or empty; .rocketproof/validation with a number unless given.
    again
        Judge the histories of this report's folder again, without a broker, and write the report anew.
    accept
        A TOML file of accepted deviations.
    configure
        Programs may change settings of the running broker; they are set back.
    shrink
        Seconds for making the program of a finding smaller on the broker; 0 leaves it as it is.
    time
        Seconds after which no further program is begun.
    rate
        Requests a second at most.
    workers
        Programs at a time; 4 unless given.
    witnesses
        Replay the model's witnesses of known violations on brokers that are started for it.
    kills
        Kill a broker so many times under load, and look for what it had acknowledged.
    json
        Write the report to this file too.
    """
    from . import output, store
    from .choices import known
    from .validation import accept as accepting
    from .validation import show
    from .validation import validate as validating
    from .validation.choose import choose
    from .validation.report import next_folder
    from .validation.witnesses import WITNESSES

    _positive("--programs", programs)
    _positive("--time", time)
    _positive("--rate", rate)
    _positive("--workers", workers)
    if seed < 0:
        raise InputError(f"--seed {seed} is negative; give 0 or more")
    if shrink < 0:
        raise InputError(f"--shrink {shrink:g} is negative; give seconds, or 0")
    if kills < 0:
        raise InputError(f"--kills {kills} is negative; give 0 or more")
    if profile is not None:
        from rocketproof_profiles import PROFILES

        profile = known("profile", profile, PROFILES)
    if json is not None:
        store.check_writable(json)
    accepted = accepting.read(accept) if accept is not None else ()
    if again is not None and (broker is not None or target is not None):
        raise InputError("--again with a broker: a saved report is judged without one; leave out one of them")
    with output.phases() as progress:
        if again is not None:
            folder, found = again, validating.again(again, profile, accepted, progress)
        else:
            chosen = choose(broker, target, profile, configure=configure)
            folder = report or next_folder()
            request = validating.Request(
                chosen,
                folder,
                programs=programs,
                seed=seed,
                workers=workers or 4,
                seconds=time,
                rate=rate,
                shrink=shrink,
                name_server=nameserver,
                accepted=accepted,
                witnesses=WITNESSES if witnesses else (),
                kills=kills,
            )
            found = validating.validate(request, progress)
    if json is not None:
        store.write_json(json, found.data())
    show.render(found, folder)
    return found.exit_code


@bench.command
def search(*, peers: bool = False, json: Path | None = None) -> int:
    """Measure the search on the routing model and on the specification.

    Parameters
    ----------
    peers
        Also run SPIN, Stateright and TLC where they are installed.
    json
        Write the rows to this file.
    """
    from . import store

    if json is not None:
        store.check_writable(json)
    from .bench import search as measure

    rows, finished = measure(peers=peers)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


@bench.command
def skew(*, topics: int = 2000, seed: int = 0, profile: str = "P49", json: Path | None = None) -> int:
    """Simulate how often a topic ends on one of two brokers, beside the formula and recorded brokers.

    Parameters
    ----------
    topics
        Topics for each number of first messages.
    seed
        The seed of the random walks.
    profile
        The profile of the specification.
    json
        Write the rows to this file.
    """
    from rocketproof_profiles import PROFILES

    from . import output, store
    from .choices import known

    _positive("--topics", topics)
    profile = known("profile", profile, PROFILES)
    if json is not None:
        store.check_writable(json)
    from .skew import FIRST_MESSAGES, share

    shares = []
    try:
        for k in FIRST_MESSAGES:
            shares.append(share(k, topics=topics, seed=seed, profile=profile))
    except KeyboardInterrupt:
        print("rocketproof: stopped by Ctrl-C; what was simulated follows", file=sys.stderr)
    if json is not None:
        store.write_json(json, [found.data() for found in shares])
    output.print_skew(shares)
    if len(shares) < len(FIRST_MESSAGES):
        return STOPPED
    return OK if all(found.standard_errors <= 3 for found in shares) else DIFFERS


@bench.command(name="serve")
def bench_serve(*, seconds: int = 10, rounds: int = 3, version: str = "4.9.4", json: Path | None = None) -> int:
    """Measure `serve` beside a real broker: synchronous sends of 1 KiB from the real Java client, which Maven fetches.

    Parameters
    ----------
    seconds
        How long each broker is measured in each round, with 1 thread and with 8.
    rounds
        How often.
    version
        The release of Apache RocketMQ, of the broker and of the client.
    json
        Write the rows to this file.
    """
    _positive("--seconds", seconds)
    _positive("--rounds", rounds)
    from . import store

    if json is not None:
        store.check_writable(json)
    from .bench import serve as measure

    rows, finished = measure(seconds=seconds, rounds=rounds, version=version)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


@bench.command
def simulate(*, seconds: float = 20, json: Path | None = None) -> int:
    """Measure the simulated cluster: sends, appends, dispatch and the programs of `rocketproof test`.

    Parameters
    ----------
    seconds
        How long to measure, about; three rounds at least.
    json
        Write the rows to this file.
    """
    _positive("--seconds", seconds)
    from . import store

    if json is not None:
        store.check_writable(json)
    from .bench import simulate as measure

    rows, finished = measure(seconds=seconds)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


@bench.command(name="judge")
def measure_judge(*, json: Path | None = None) -> int:
    """Measure the judge of histories on 10,000 events of 8 producers, beside porcupine where Go is installed.

    Parameters
    ----------
    json
        Write the rows to this file.
    """
    from . import store

    if json is not None:
        store.check_writable(json)
    from .bench import judge as measure

    rows, finished = measure()
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _positive(option: str, value: float | None) -> None:
    if value is not None and not 0 < value < float("inf"):
        raise InputError(f"{option} {value:g} is not a positive number; give more than 0")


def main() -> NoReturn:
    """The entry point `rocketproof`. A polite kill, as a CI's time limit sends it, counts as Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def run(tokens: Sequence[str]) -> int:
    """Run one command and return its exit code; every mistake of the user's is one line on stderr."""
    tokens = list(tokens)
    try:
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except CycloptsError as error:
        return _refuse(f"{' '.join(str(error).split())} See: {_help_for(tokens)}")
    except RocketproofError as error:
        return _refuse(" ".join(str(error).split()))
    except KeyboardInterrupt:
        print("rocketproof: stopped by Ctrl-C before anything was decided", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # The reader has closed our output (`| head`); without this the interpreter complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _refuse(message: str) -> int:
    print(f"rocketproof: {message}", file=sys.stderr)
    return USAGE


def _help_for(tokens: Sequence[str]) -> str:
    names = [t for t in tokens[:1] if t in {name for name in app if not name.startswith("-")}]
    return " ".join(["rocketproof", *names, "--help"])


if __name__ == "__main__":
    main()
