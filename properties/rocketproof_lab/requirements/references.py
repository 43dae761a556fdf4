"""Find where the sources refer to an id of a rule, a property, a hazard or a mutant, with file and line.

The sources are read, not imported, and only files that contain the id are parsed, so a query takes about a second. A seeded mutant's
functions and killers come from its patches and its row. The role of an id
follows from its syntactic context, not from a list of modules:

- In a docstring of a function or a class, or of a module without either: code in the implementation, an action in the specification.
- `behaviour("CHK-10")` decorates a test.
- An entry that begins with an id, such as `Claim("INV-34", "a sentence", ...)`, defines that property, hazard or mutant. Other ids in the
  entry are related to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_properties.catalogue.mutants import ROWS
from rocketproof_properties.catalogue.places import LABEL, Definition, definitions, folder_of, module_of, parsed
from rocketproof_properties.catalogue.rules import ID, is_known, rules, sections
from rocketproof_properties.reports.choices import InputError, known

from ..mutation.patch import Text
from ..mutation.seeded.registry import SECTIONS, SeededMutant, joined

Kind = Literal["code", "action", "property", "hazard", "mutant", "test", "mention"]
KINDS: Final[Sequence[Kind]] = ("code", "action", "property", "hazard", "mutant", "test", "mention")
PACKAGES: Final = (
    "rocketproof_protocol",
    "rocketproof_profiles",
    "rocketproof_impl",
    "rocketproof_model",
    "rocketproof_spec",
    "rocketproof_traces",
    "rocketproof_properties",
    "rocketproof_lab",
)
_CODE: Final = ("rocketproof_protocol", "rocketproof_profiles", "rocketproof_impl")
_MODEL: Final = "rocketproof_spec"

_KINDS_OF_LABELS: Final[dict[str, Kind]] = {"HAZ": "hazard", "M": "mutant", "C": "mutant"}
_PROPERTY = re.compile(r"(INV|LIV|ACT|END)-[0-9]{2}|(REA|AUX)-[0-9]{2,3}")

_OUTSIDE: Final = ast.Module([], [])


@dataclass(frozen=True, slots=True, order=True)
class IdReference:
    """A place that contains an id. `name`: the function, test or entry. `file` is relative to the project."""

    kind: Kind
    file: str
    line: int
    name: str
    sentence: str = ""
    ids: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"name": self.name, "sentence": self.sentence, "file": self.file, "line": self.line}


@dataclass(frozen=True)
class IdReferences:
    """All references to an id. `related`: definitions of the properties named by mutants and hazards of a rule.

    `killers`: for a seeded mutant, the ids of which a test must notice it, each with its sentence.
    """

    id: str
    references: Sequence[IdReference]
    related: Sequence[IdReference] = ()
    killers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def definitions(self) -> Sequence[IdReference]:
        return [reference for reference in self.references if _is_of(reference.name, self.id)]

    @property
    def section(self) -> str:
        """Section and title of a rule, empty for other ids."""
        rule = rules().get(self.id)
        return "" if rule is None else next(f"{section.id} {section.title}" for section in sections() if section.id == rule.section)

    @property
    def sentence(self) -> str:
        rule = rules().get(self.id)
        # INV-34 before INV-34.next, and the hazard itself before its witnesses
        ordered = sorted(self.definitions, key=lambda definition: (definition.name, "/hazards/" not in definition.file))
        return rule.sentence if rule is not None else next((definition.sentence for definition in ordered if definition.sentence), "")

    def of(self, kind: Kind) -> list[IdReference]:
        return [reference for reference in self.references if reference.kind == kind] + [
            reference for reference in self.related if reference.kind == kind
        ]

    def record(self) -> dict[str, Any]:
        """Return the JSON form: the places by kind."""
        places = {kind: [reference.record() for reference in self.of(kind)] for kind in KINDS}
        killers = [{"id": id_, "sentence": sentence} for id_, sentence in self.killers.items()]
        return {"id": self.id, "section": self.section, "sentence": self.sentence, "killers": killers, "references": places}


def look_up(ids: Sequence[str], tests: Path | None = None) -> list[IdReferences]:
    """Return the references to each id. Raises InputError for an undefined id and for unreadable sources.

    `tests` is the folder of tests, by default the project's if it exists.
    """
    sources = _sources(tests)
    seeded = {mutant.id: mutant for mutant in joined(ROWS, SECTIONS)}
    entries = []
    for text in ids:
        id_ = text.upper().partition(".")[0]
        references = _references(sources, id_)
        entry = IdReferences(id_, references)
        if id_ not in rules() and not entry.definitions:
            known("id", text, _defined_ids(sources, without=id_))
        related_ids = {
            other for each in references if each.kind in ("hazard", "mutant") for other in each.ids if _PROPERTY.fullmatch(other)
        }
        definitions = [each for other in sorted(related_ids - {id_}) for each in _references(sources, other) if _is_of(each.name, other)]
        mutant = seeded.get(id_)
        if mutant is not None:
            references = [*_changed(sources, mutant), *references]
        killers = {killer: IdReferences(killer, _references(sources, killer)).sentence for killer in mutant.killers} if mutant else {}
        entries.append(IdReferences(id_, references, definitions if id_ in rules() else (), killers))
    return entries


def _changed(sources: Iterable[_Source], mutant: SeededMutant) -> Iterator[IdReference]:
    """Yield the functions and values that a seeded mutant changes, each with its change."""
    by_module = {module_of(Path(*Path(source.shown).parts[1:])): source for source in sources if source.package in _CODE}
    for letter, patch in mutant.variants().items():
        for change in patch:
            module, _, name = change.where.partition(":")
            source, name = by_module[module], name.removesuffix(".fset")
            places = [
                node.lineno
                for node in source.parents
                if (isinstance(node, Definition) and source.names.get(node) == name)
                or (isinstance(node, ast.Assign | ast.AnnAssign) and _assigned([node]) == name.rpartition(".")[2])
            ]
            text = f"{change.old} → {change.new or 'nothing'}" if isinstance(change, Text) else "changed as a whole"
            words = " ".join(f"{letter}: {text}".split()) if letter else " ".join(text.split())
            yield IdReference("code", source.shown, min(places, default=1), name, words)


@dataclass(frozen=True, eq=False)
class _Source:
    """A file of a package or of `tests`. It is parsed once for all ids."""

    path: Path
    shown: str
    package: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return parsed(self.path)

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def names(self) -> Mapping[ast.AST, str]:
        """The qualified name of each function and class."""
        return dict(definitions(self.tree))


def _sources(tests: Path | None) -> list[_Source]:
    folders = {package: folder_of(package) for package in PACKAGES}
    project = folder_of("rocketproof_properties").parents[1]
    chosen = tests or project / "tests"
    if tests is not None and not tests.is_dir():
        raise InputError(f"--tests {tests} is not a folder; give the folder of tests")
    sources = []
    for package, folder in {**folders, "tests": chosen}.items():
        for path in sorted(folder.rglob("*.py")):
            shown = path.relative_to(project) if path.is_relative_to(project) else path
            sources.append(_Source(path, shown.as_posix(), package, path.read_text("utf-8")))
    return sources


def _defined_ids(sources: Iterable[_Source], without: str) -> list[str]:
    """Return every id in the sources that may be defined, rules first."""
    named = {id_ for source in sources if source.package != "tests" for id_ in ID.findall(source.text) if is_known(id_)}
    return [*rules(), *sorted(named - rules().keys() - {without})]


def _references(sources: Iterable[_Source], id_: str) -> list[IdReference]:
    references = {each for source in sources if id_ in source.text for each in _File(source, id_).references()}
    explained = {(each.file, each.line) for each in references if each.kind != "mention"}
    remaining = (each for each in references if each.kind != "mention" or (each.file, each.line) not in explained)
    return sorted(remaining, key=lambda each: (KINDS.index(each.kind), each))


def _is_of(name: str, id_: str) -> bool:
    """Whether an entry with this name defines the id: the id itself, or with a suffix such as `.next`."""
    return name == id_ or name.startswith(f"{id_}.")


class _File:
    """Finds the strings in a file that contain an id, and classifies them by their context."""

    def __init__(self, source: _Source, id_: str) -> None:
        self._source = source
        self._id = id_
        self._named = re.compile(rf"\b{re.escape(id_)}\b")
        self._parents = source.parents
        self._names = source.names

    def references(self) -> Iterator[IdReference]:
        for node in self._parents:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and self._named.search(node.value):
                reference = self._reference(node, node.value)
                if reference is not None:
                    yield reference

    def _reference(self, node: ast.Constant, text: str) -> IdReference | None:
        parents = list(self._parents_of(node))
        inside = next((parent for parent in parents if isinstance(parent, Definition)), None)
        if isinstance(parents[0], ast.Expr):
            documented = parents[1]
            if isinstance(documented, ast.Module) and documented.body[0] is parents[0] and not self._names and self._documents != "mention":
                return self._at(self._documents, node, module_of(Path(*Path(self._source.shown).parts[1:])))
            is_docstring = inside is not None and documented is inside and inside.body[0] is parents[0]
            return self._documented(inside) if inside is not None and is_docstring else None
        tests = self._source.package == "tests"
        if inside is not None and self._source.package == _MODEL and any(parent in inside.decorator_list for parent in parents):
            return self._at("action", inside, inside.name)
        for parent in parents:
            if isinstance(parent, ast.Call) and _called(parent) == "behaviour":
                marked = (
                    self._at("test", parent, self._source.path.stem) if inside is None else self._at("test", inside, self._names[inside])
                )
                return marked if tests else None
            if isinstance(parent, ast.JoinedStr):
                return None  # a message to users
            if isinstance(parent, ast.Call | ast.Tuple) and (entry := self._entry(parent)) is not None:
                return entry if not tests or entry.kind == "mutant" else None
            if isinstance(parent, ast.stmt):
                break
        if tests:
            listed = inside is None and text == self._id and self._source.path.name.startswith("test_")
            return self._at("test", node, _assigned(parents) or self._source.path.stem) if listed else None
        return self._at("mention", node, self._names[inside] if inside is not None else _assigned(parents), text)

    def _parents_of(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the node's parents, the innermost first."""
        while (node := self._parents.get(node, _OUTSIDE)) is not _OUTSIDE:
            yield node

    @property
    def _documents(self) -> Kind:
        """The kind of reference that a docstring in this package is."""
        return "code" if self._source.package in _CODE else "action" if self._source.package == _MODEL else "mention"

    def _documented(self, inside: Definition) -> IdReference:
        return self._at(self._documents, inside, self._names[inside], _first_line(inside) if self._documents == "mention" else "")

    def _entry(self, node: ast.Call | ast.Tuple) -> IdReference | None:
        """Return the entry of a table, such as `Claim(id, "a sentence")`. It begins with an id. A text with a blank is its sentence."""
        parts = [*node.args, *(part.value for part in node.keywords)] if isinstance(node, ast.Call) else node.elts
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        label = LABEL.fullmatch(texts[0]) if texts else None
        if label is None or len(texts) < 2:
            return None
        kind = _KINDS_OF_LABELS.get(label[1].partition("-")[0], "property")
        decorated = self._parents.get(node)
        ids = tuple(dict.fromkeys(id_ for text in texts[1:] for id_ in ID.findall(text)))
        if isinstance(decorated, Definition):
            return self._at(kind, decorated, texts[0], _first_line(decorated), ids)
        sentence = next((text for text in texts[1:] if " " in text and not set(text.split()) <= set(ids)), "")
        return self._at(kind, node, texts[0], sentence, ids) if sentence else None

    def _at(self, kind: Kind, node: ast.expr | Definition, name: str, sentence: str = "", ids: tuple[str, ...] = ()) -> IdReference:
        return IdReference(kind, self._source.shown, node.lineno, name, " ".join(sentence.split()), ids)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _assigned(parents: Iterable[ast.AST]) -> str:
    for parent in parents:
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target] if isinstance(parent, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                return target.id
    return ""


def _first_line(node: Definition) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]
