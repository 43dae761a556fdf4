"""Write a witness, or a recorded program of messages, as a pytest file that only needs `import rocketproof`."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError
from rocketproof_model.interpreter import initial
from rocketproof_model.result import Witness

from ...catalogue.modelfile import NAMED
from ...catalogue.source import ModelSource
from ...reports.choices import InputError
from .walking import unshown

_WIDTH = 110


def as_test(source: ModelSource, witness: Witness) -> str:
    """Return the test: it takes the steps on the model, and for the specification also on the implementation if that repeats them.

    Raises InputError for a witness that a test cannot show: a lemma's witness, a witness that does not begin in the initial state, or a
    witness whose steps do not show the property.
    """
    claim = witness.property
    if claim.kind == "lemma":
        raise InputError(f"{claim.id} is a lemma, whose witness has no steps; assert it with rocketproof.assert_holds")
    if witness.states[0] != initial(witness.instance):
        raise InputError(
            f"the witness of {claim.id} does not begin in the initial state, as one against an induction: no test can repeat it"
        )
    missing = unshown(witness)
    if missing:
        raise InputError(f"the witness does not show {claim.id}: {missing}")
    what = "can be reached" if claim.kind == "reachable" else "is violated"
    name = re.sub(r"\W+", "_", claim.id.lower()).strip("_")
    values: dict[str, Any] = {} if source.file is not None and NAMED in source.file else {"scope": source.scope}
    if source.file is None:
        values["profile"] = source.profile
    values |= dict(source.given)
    steps = f"in {len(witness)} steps" if len(witness) != 1 else "in 1 step"
    head = "\n".join(textwrap.wrap(_plain(f"{claim.id} {what}, {steps}: {claim.sentence}."), _WIDTH))
    where = "the built-in specification" if source.file is None else "from the folder that pytest is run in"
    lines = [f'"""{head}"""', "", "import rocketproof", "", f"MODEL = {_literal(source.file)}  # {where}"]
    lines += (
        ["GIVEN = {", *(f"    {_literal(key)}: {_literal(value)}," for key, value in values.items()), "}"] if values else ["GIVEN = {}"]
    )
    lines += ["STEPS = [", *(f"    {_literal(label)}," for label in witness.labels()), "]"] if witness.moves else ["STEPS = []"]
    loop = "" if witness.loop is None else f", loop={witness.loop}"
    call = f"rocketproof.assert_shows(MODEL, {_literal(claim.id)}, STEPS{loop}"
    lines += _test(f"{name}_in_the_model", "The steps can be taken, and show it.", f"{call}, **GIVEN)")
    problem = "" if source.file is not None else _implementation_problem(source, witness)
    if problem:
        lines += ["", "", *(f"# {line}" for line in textwrap.wrap(f"The implementation does not repeat this witness: {problem}", _WIDTH))]
    elif source.file is None:
        docstring = 'The implementation does the same; `on="apache:4.9.4"` asks a real broker that is started for it.'
        lines += _test(f"{name}_on_the_implementation", docstring, f'{call}, on="implementation", **GIVEN)')
    return "\n".join(lines) + "\n"


def history_as_test(path: str) -> str:
    """Return a test that performs a recorded program of messages on a target again and judges the result.

    Raises InputError for other histories.
    """
    from ...brokers.runs.parsed import load
    from ...validation.ownprograms import OWN

    history = load(Path(path))
    program = history.program
    if not program.steps or program.steps == OWN.steps:
        raise InputError(f"{path}: its header has no program; give a history that `rocketproof validate` has recorded")
    profile = str(history.origin.get("profile") or "P49")
    clients = f" by {program.clients} clients" if program.concurrent else ""
    head = f"{len(program.steps)} steps{clients}, recorded of {dict(history.origin.get('target') or {}).get('name', 'a broker')}."
    lines = [f'"""{_plain(head)}"""', "", "import os", "", "import rocketproof", ""]
    lines += ['TARGET = os.environ.get("ROCKETPROOF_TARGET", "inprocess")  # or an address, or apache:4.9.4']
    lines += ["STEPS = [", *(f"    ({_literal(name)}, {args!r})," for name, args in program.steps), "]", "", ""]
    lines += ["def test_program() -> None:", '    """What the broker answers and stores is as described."""']
    arguments = f"profile={_literal(profile)}" + (f", needs={_literal(program.needs)}" if program.needs else "")
    lines += [f"    with rocketproof.Target(TARGET, {arguments}) as target:", "        target.perform(STEPS)"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Escape a text for a docstring."""
    return text.replace("\\", "\\\\").replace('"', "'")


def _literal(value: Any) -> str:
    """Return a value as Python source, texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _test(name: str, docstring: str, call: str) -> list[str]:
    return ["", "", f"def test_{name}() -> None:", f'    """{docstring}"""', f"    {call}"]


def _implementation_problem(source: ModelSource, witness: Witness) -> str:
    """Return why the implementation does not repeat a witness; "" if it does."""
    from ...conformance.stateful.replay import replay_witness

    try:
        done = replay_witness(source, witness)
    except (RocketproofError, KeyError) as error:
        return str(error)
    return "" if done.agrees else "it does otherwise than the specification" if done.finding is not None else "its states do not show it"
