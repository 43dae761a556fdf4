"""A program in one file: hand-written, a finding's file, a test that `to-test` has written, or a recorded history.

A Python file defines these names; all but the first are optional.

- `STEPS`: a list of steps, each a name of the vocabulary with its arguments, such as `("send", {"topic": "A"})`. `("wait", 1.5)` waits
  1.5 s. A list of steps stands for its steps, so that `[("send", {})] * 3` sends three messages.
- `SETTINGS`: settings that the brokers are started with, by RocketMQ's names. `NAME_SERVER_SETTINGS`: those of the name server.
- `BROKERS`: the number of brokers. A step names one by `"broker": "broker-b"`; the default is the first.
- `BROKER_SETTINGS`: further settings of single brokers, such as `{"broker-b": {"brokerName": "broker-a", "brokerId": 1, "brokerRole":
  "SLAVE"}}`.
- `TIMES`: how often it is performed, for races.
- `shows(answers)`: whether the responses show the problem. `PROPERTY`: the problem is that this property or promise is broken.

Every error becomes one line `file:line:column: what; how to fix it`.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from rocketproof_impl.broker.settingstext import FIELDS
from rocketproof_impl.remoting.frame import encode
from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import is_digits, whole_number
from rocketproof_traces.history import is_history

from ...brokers.deployment import Setup
from ...brokers.inprocess import LACKS
from ...brokers.runs.parsed import load as load_history
from ...programs.call import Context
from ...programs.names import ProgramNames
from ...programs.program import Program
from ...programs.settings import LEGAL, NOT_DRAWN, WITHOUT_EFFECT, at_start, is_known, needs_of, of_name_server, while_running
from ...programs.vocabulary import ADDRESSED, FORMED, ON_BROKERS, STEPS, Step, arguments, request_of
from ...reports import userfile
from ...reports.choices import InputError, offer
from ...reports.userfile import UserFileKind, place_in, place_of

FILE: Final = UserFileKind("program", "a Python file with STEPS, or of a recorded history", "STEPS")
WAIT: Final = "wait"
"""A step of files only: seconds that pass."""
_STEPS: Final = (*ON_BROKERS, WAIT)
_CLIENTS: Final = 64
_BROKERS: Final = 9
_TIMES: Final = 1000
_MILLIS: Final = 1000
_TYPO: Final = 0.8
"""A setting that rocketproof does not know, but that is this similar to one it knows, is a typing error."""
_KNOWN_SETTINGS: Final = tuple(dict.fromkeys((*FIELDS, *LEGAL, *NOT_DRAWN, *WITHOUT_EFFECT, *LACKS)))
_EXAMPLE: Final = '("send", {"topic": "A"})'


@dataclass(frozen=True)
class ProgramFile:
    """A program as a user wrote it.

    - `settings`: the settings of `needs` and `SETTINGS` that brokers are started with. `running`: those that change on a running broker.
    - `own`: settings of single brokers, by broker. `times`: how often it is performed unless a caller says otherwise.
    - `shows`: the file's function, None if it has none. `finding`: the property or field that the file is about, "" if it names none.
    - `sentence`: the first line of the file's docstring.
    """

    path: str
    program: Program
    settings: Mapping[str, str] = field(default_factory=dict)
    running: Mapping[str, str] = field(default_factory=dict)
    name_server: Mapping[str, str] = field(default_factory=dict)
    brokers: int = 1
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    times: int = 1
    shows: Callable[[Any], Any] | None = None
    finding: str = ""
    sentence: str = ""
    source: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.program.steps

    @property
    def setup(self) -> Setup:
        """The brokers that the program needs."""
        return Setup(self.brokers, self.settings, self.own, self.name_server)

    @property
    def given(self) -> dict[str, Any]:
        """What the brokers and the name server were given, as JSON values. Histories keep it."""
        given = {"settings": dict(self.settings), "nameServer": dict(self.name_server), "brokers": self.brokers}
        return given | ({"brokerSettings": {broker: dict(own) for broker, own in self.own.items()}} if self.own else {})

    def data(self) -> dict[str, Any]:
        """Return what is performed as JSON values. Two files with equal data have equal runs."""
        return {
            "steps": [[name, args] for name, args in self.steps],
            "needs": self.program.needs,
            **self.given,
        }


def load(path: str) -> ProgramFile:
    """Read a program. Raises InputError, TraceError."""
    if is_recorded(path):
        return _of_history(path)
    source = userfile.read(path, FILE)
    if path.endswith((".json", ".toml")):
        raise InputError(f"{path} is not a program; give {FILE.wanted}")
    return _Reader(path, source).program()


def is_recorded(path: str) -> bool:
    """Return whether a file is read as a recorded history. Any other program is Python, which `load` executes."""
    return path.endswith((".ndjson", ".jsonl")) or (Path(path).is_file() and not path.endswith(".py") and is_history(path))


def _of_history(path: str) -> ProgramFile:
    if not Path(path).is_file():
        userfile.read(path, FILE)  # raises the error
    history = load_history(Path(path))
    if not history.program.steps:
        raise InputError(f"{path}: its header has no program; give a history that `rocketproof run` or `validate` has recorded")
    given = dict(history.origin.get("given") or {})
    program, settings = history.program, dict(given.get("settings") or {}) or dict(at_start(history.program.needs))
    running = {} if given else dict(while_running(program.needs))
    own = dict(given.get("brokerSettings") or {})
    name_server = dict(given.get("nameServer") or {}) or dict(of_name_server(program.needs))
    return ProgramFile(path, program, settings, running, name_server, whole_number(given.get("brokers") or 1), own)


class _Reader:
    """Reads the names that a Python file defines."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.values = vars(userfile.execute(path, source, FILE))
        self.tree = ast.parse(source)

    def program(self) -> ProgramFile:
        if "STEPS" not in self.values:
            near = [name for name in self.values if name.upper() == "STEPS" or name in ("PROGRAM", "program")]
            hint = f"call {near[0]} STEPS" if near else f"write STEPS = [{_EXAMPLE}, ...]"
            raise InputError(f"{self.path}:1:1: no STEPS in this file; {hint}")
        named = self._called()
        needs = named.get("needs", "")
        if not is_known(needs):
            self._refuse(f"unknown settings {needs!r}; write SETTINGS = {{...}} with the names of RocketMQ", "STEPS")
        given, name_server = self._settings("SETTINGS"), self._settings("NAME_SERVER_SETTINGS")
        brokers = self._number("BROKERS", _BROKERS, "write BROKERS = 2")
        times = self._number("TIMES", _TIMES, "write TIMES = 100")
        own = self._broker_settings(brokers)
        steps = self._steps(brokers)
        shows = self.values.get("shows")
        if shows is not None and not callable(shows):
            self._refuse("shows is not a function; write def shows(answers): return answers[1].code == 0", "shows")
        judged_by = needs or needs_of({name: value for name, value in given.items() if name in LEGAL})
        return ProgramFile(
            self.path,
            Program(0, "", steps, judged_by),
            {**(at_start(needs) if needs else {}), **given},
            while_running(needs) if needs else {},
            {**(of_name_server(needs) if needs else {}), **name_server},
            brokers,
            own,
            times,
            shows,
            str(self.values.get("PROPERTY") or named.get("property", "")),
            next(iter((ast.get_docstring(self.tree) or "").splitlines()), ""),
            self.source,
        )

    def _called(self) -> dict[str, str]:
        """Return what a finding's file, or a test of `to-test`, passes to the function that performs its steps."""
        keywords = (keyword for node in ast.walk(self.tree) if isinstance(node, ast.Call) for keyword in node.keywords)
        wanted = ("needs", "property")
        return {
            str(each.arg): each.value.value
            for each in keywords
            if each.arg in wanted and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        }

    # Settings

    def _number(self, name: str, most: int, hint: str) -> int:
        number = self.values.get(name, 1)
        if type(number) is not int or not 1 <= number <= most:
            self._refuse(f"{name} is not a number from 1 to {most} but {number!r}; {hint}", name)
        return number

    def _broker_settings(self, brokers: int) -> dict[str, dict[str, str]]:
        given, names = self.values.get("BROKER_SETTINGS", {}), Setup(brokers).names
        if not isinstance(given, Mapping) or not given.keys() <= set(names):
            example = 'BROKER_SETTINGS = {"broker-b": {"brokerRole": "SLAVE"}}'
            self._refuse(f"BROKER_SETTINGS is not a dict with the brokers {', '.join(names)}; write {example}", "BROKER_SETTINGS")
        return {broker: self._texts("BROKER_SETTINGS", own) for broker, own in given.items()}

    def _settings(self, name: str) -> dict[str, str]:
        return self._texts(name, self.values.get(name, {}))

    def _texts(self, name: str, given: Any) -> dict[str, str]:
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            self._refuse(f'{name} is not a dict of names to values; write {name} = {{"transactionCheckInterval": 500}}', name)
        for key, value in given.items():
            if not isinstance(value, str | int | float):
                self._refuse(f"{name}[{key!r}] is not a text or a number but {value!r}", name, key)
            near = difflib.get_close_matches(key, _KNOWN_SETTINGS, 1, _TYPO)
            if name != "NAME_SERVER_SETTINGS" and key not in _KNOWN_SETTINGS and near:
                self._refuse(f"unknown setting {key!r}; did you mean {near[0]}?", name, key)
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}

    # Steps

    def _steps(self, brokers: int) -> tuple[Step, ...]:
        steps = tuple(self._flat(self.values["STEPS"]))
        if not steps:
            self._refuse(f"STEPS is empty; write STEPS = [{_EXAMPLE}, ...]", "STEPS")
        names = Setup(brokers).names
        for name, args in steps:
            if args.get("broker", names[0]) not in names:
                self._refuse(f"step {name}: there is no broker {args['broker']!r}; use {', '.join(names)}, or set BROKERS", name, "broker")
        self._check_records(steps)
        return steps

    def _check_records(self, steps: Sequence[Step]) -> None:
        """Report a search by the store time of a record that no earlier step can have pulled."""
        pulled: list[dict[str, Any]] = []
        for step in (each for each in steps if each[0] in ("pull", "search")):
            values = arguments(step) | step[1]
            queue: dict[str, Any] = {name: values[name] for name in ("topic", "queue", "broker") if name in values}
            if step[0] == "pull":
                pulled.append(queue)
            elif values["record"] is not None and queue not in pulled:
                hint = f'write ("pull", {queue}) before it'
                self._refuse(f"step search names a record, but no earlier step pulls its queue; {hint}", "search", "record")

    def _flat(self, value: Any) -> Iterable[Step]:
        """Yield the steps of a list, of lists in it, and so on."""
        if not isinstance(value, list | tuple):
            self._refuse(f"{value!r} is not a list of steps; write STEPS = [{_EXAMPLE}, ...]", "STEPS")
        for each in value:
            if isinstance(each, str):
                yield self._step((each,))
            elif isinstance(each, list | tuple) and each and isinstance(each[0], str):
                yield self._step(each)
            elif isinstance(each, list | tuple):
                yield from self._flat(each)
            else:
                self._refuse(f"{each!r} is not a step; write {_EXAMPLE}", "STEPS")

    def _step(self, written: Sequence[Any]) -> Step:
        name, *rest = written
        if name not in _STEPS:
            simulated = f"step {name} exists in simulated clusters only"
            self._refuse(simulated if name in STEPS else f"unknown step {name!r}; {_did_you_mean(name, _STEPS)}", name)
        if name == WAIT:
            return self._wait(rest)
        if len(rest) > 1 or not all(isinstance(args, Mapping) for args in rest):
            self._refuse(f"step {name} is not a name with one dict of arguments; write {_EXAMPLE}", name)
        args = dict(*rest)
        kind = STEPS[name]
        allowed = (*kind.arguments, *ADDRESSED, *(() if kind.build is None else FORMED))
        for key in args:
            if key not in allowed:
                self._refuse(f"step {name} has no argument {key!r}; {_did_you_mean(str(key), allowed)}", name, key)
        client = args.get("client", 0)
        if type(client) is not int or not 0 <= client < _CLIENTS:
            self._refuse(f"step {name}: client is not a number from 0 to {_CLIENTS - 1} but {client!r}", name, "client")
        self._try(name, args)
        return name, args

    def _wait(self, rest: Sequence[Any]) -> Step:
        client = rest[1].get("client", 0) if len(rest) == 2 and isinstance(rest[1], Mapping) else 0
        if not rest or isinstance(rest[0], bool) or not isinstance(rest[0], int | float) or not 0 <= rest[0] < float("inf"):
            self._refuse('step wait needs a number of seconds; write ("wait", 1.5)', WAIT)
        return "time", {"millis": round(rest[0] * _MILLIS)} | ({"client": client} if client else {})

    def _try(self, name: str, args: Mapping[str, Any]) -> None:
        """Build the request once, so that an argument of a wrong type is reported before a broker is started."""
        try:
            arguments((name, dict(args)))
            call = request_of((name, dict(args)), Context(ProgramNames("", 0), "broker-a", profile=PROFILES["P550"]))
            if call is not None:
                encode(call.command())
        except InputError as problem:
            self._refuse(str(problem), name)
        except Exception as problem:  # noqa: BLE001  (whatever a builder makes of a value that it does not expect)
            self._refuse(f"step {name}: an argument has a wrong type ({type(problem).__name__}: {problem}); see its defaults", name)

    def _refuse(self, problem: str, name: str, key: str | None = None) -> NoReturn:
        raise InputError(f"{self._place(name, key)}: {problem}")

    def _place(self, name: str, key: str | None) -> str:
        """Return the place of a step with this argument, or of the key of a dict, or where the file defines the name."""
        nodes = [found for node in ast.walk(self.tree) for found in _written(node, name, key)]
        if not nodes:
            return place_of(self.path, self.source, name if name.isupper() or name == "shows" else "STEPS")
        return place_in(self.path, self.source, min(nodes, key=lambda node: (node.lineno, node.col_offset)))


def _written(node: ast.AST, name: str, key: str | None) -> Iterable[ast.expr | ast.stmt]:
    """Yield the nodes at a node of the syntax tree that write the step, or assign the name a dict, with this key."""
    if isinstance(node, ast.Tuple | ast.List) and node.elts and _is_text(node.elts[0], name):
        dicts: list[ast.expr] = node.elts[1:]
    elif isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
        dicts = [node.value]
    else:
        return
    if key is None:
        yield node
    for written in dicts:
        if key is not None and isinstance(written, ast.Dict):
            yield from (each for each in written.keys if each is not None and _is_text(each, key))


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _did_you_mean(given: str, names: Iterable[str]) -> str:
    choices = [*names]
    near = difflib.get_close_matches(given.lower(), choices, 1, 0.6)
    return f"did you mean {near[0]}?" if near and not is_digits(given) else offer(given, choices)
