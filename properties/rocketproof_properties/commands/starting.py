"""The command `init`: write a file to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..reports.choices import InputError
from ..reports.exitcode import OK

Kind = Literal["target", "ci", "model"]


class _Template(NamedTuple):
    file: str
    default: Path
    next: str


TEMPLATES: Final[dict[Kind, _Template]] = {
    "target": _Template("target.toml", Path("broker.toml"), "rocketproof validate --target {path} --self-test"),
    "ci": _Template("workflow.yml", Path(".github/workflows/rocketproof.yml"), "git add {path}"),
    "model": _Template("model.py.txt", Path("model.py"), "rocketproof check {path}"),
}
"""The kinds of files: the template, where it is written unless told otherwise, and the command to go on with."""


def init(kind: Kind, path: Path | None = None, /) -> int:
    """Write a commented file to begin with: the description of a broker (target), a CI workflow (ci), or a model (model).

    Parameters
    ----------
    kind
        target, ci or model.
    path
        The file to write. It must not exist. Default: broker.toml, .github/workflows/rocketproof.yml or model.py.
    """
    from importlib import resources

    from ..reports.output import Page

    template = TEMPLATES[kind]
    file = path or template.default
    if file.exists():
        raise InputError(f"{file} exists and is left as it is; give another file: rocketproof init {kind} FILE")
    text = resources.files("rocketproof_properties.commands").joinpath("templates", template.file).read_text("utf-8")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    page = Page()
    page.line(f"{file} is written; edit it, then:")
    page.line(f"  {template.next.format(path=file)}")
    return OK
