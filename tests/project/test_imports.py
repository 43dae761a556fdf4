"""Packages import each other in one direction only: the import contracts of pyproject.toml hold, and each can fail."""

import sys
from copy import deepcopy
from pathlib import Path

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"layers": LayersContract, "forbidden": ForbiddenContract, "acyclic_siblings": AcyclicSiblingsContract}
CONFIGURATION = read_configuration(str(ROOT / "pyproject.toml"))
CONTRACTS = {one["id"]: one for one in CONFIGURATION["contracts_options"]}

VIOLATIONS = [
    ("packages", "rocketproof_model", "rocketproof_traces"),
    ("packages", "rocketproof_model", "rocketproof_properties"),
    ("packages", "rocketproof_model", "rocketproof_impl"),
    ("packages", "rocketproof_impl", "rocketproof_model"),
    ("packages", "rocketproof_impl", "rocketproof_traces"),
    ("packages", "rocketproof_impl", "rocketproof_properties"),
    ("packages", "rocketproof_traces", "rocketproof_properties"),
    ("packages", "rocketproof_properties", "rocketproof_lab"),
    ("packages", "rocketproof_profiles", "rocketproof_model"),
    ("packages", "rocketproof_profiles", "rocketproof_impl"),
    ("packages", "rocketproof_protocol", "rocketproof_profiles"),
    ("model", "rocketproof_model.language", "rocketproof_model.interpreter"),
    ("proofs", "rocketproof_model.proofs.obligations", "rocketproof_model.proofs.certificate"),
    ("transforms", "rocketproof_model.transforms.mutation", "rocketproof_model.transforms.mutators"),
    ("specification", "rocketproof_spec", "rocketproof_model.search"),
    ("specification", "rocketproof_spec", "rocketproof_impl"),
    ("packages", "rocketproof_model", "rocketproof_spec"),
    ("certificate", "rocketproof_model.proofs.certificate", "rocketproof_model.symbolic"),
    ("language", "rocketproof_model.language.expr", "rocketproof_model.language.model"),
    ("impl", "rocketproof_impl.store", "rocketproof_impl.broker"),
    ("impl", "rocketproof_impl.remoting", "rocketproof_impl.store"),
    ("impl", "rocketproof_impl.broker", "rocketproof_impl.simulator"),
    ("broker", "rocketproof_impl.broker.pull", "rocketproof_impl.broker.broker"),
    ("broker", "rocketproof_impl.broker.parts", "rocketproof_impl.broker.operations"),
    ("impl-circles", "rocketproof_impl.java", "rocketproof_impl.broker"),
    ("rules-circles", "rocketproof_properties.catalogue.claim", "rocketproof_properties.catalogue.log"),
    ("judges", "rocketproof_traces.checker", "rocketproof_impl.route"),
    ("traces", "rocketproof_traces.history", "rocketproof_traces.checker"),
    ("traces", "rocketproof_traces.stored", "rocketproof_traces.audit"),
    ("traces", "rocketproof_traces.bulk", "rocketproof_traces.spark"),
    ("properties", "rocketproof_properties.catalogue", "rocketproof_properties.commands.checks"),
    ("properties", "rocketproof_properties.conformance.stateful", "rocketproof_properties.commands.checks"),
    ("properties", "rocketproof_properties.reports.files", "rocketproof_properties.commands.checks"),
    ("properties", "rocketproof_properties.programs", "rocketproof_properties.brokers"),
    ("properties", "rocketproof_properties.programs", "rocketproof_properties.brokers.runs"),
    ("properties", "rocketproof_properties.brokers.runs", "rocketproof_properties.judging"),
    ("properties", "rocketproof_properties.judging", "rocketproof_properties.conformance.witnesses"),
    ("properties", "rocketproof_properties.validation", "rocketproof_properties.commands"),
    ("properties", "rocketproof_properties.conformance", "rocketproof_properties.validation"),
    ("properties", "rocketproof_properties.programs", "rocketproof_properties.judging"),
    ("commands", "rocketproof_properties.commands.audits", "rocketproof_properties.commands.common"),
    ("commands", "rocketproof_properties.commands.checks", "rocketproof_properties.commands.campaign"),
    ("validation", "rocketproof_properties.validation.faults", "rocketproof_properties.validation.validate"),
    ("validation", "rocketproof_properties.validation.releases", "rocketproof_properties.validation.suite"),
    ("conformance", "rocketproof_properties.conformance.drivers", "rocketproof_properties.conformance.stateful"),
    ("judging", "rocketproof_properties.judging.reference", "rocketproof_properties.judging.judging"),
    ("judging", "rocketproof_properties.judging.claims", "rocketproof_properties.judging.specification"),
    ("judging", "rocketproof_properties.judging.exchanges", "rocketproof_properties.judging.verdicts"),
    ("brokers", "rocketproof_properties.brokers.deployment", "rocketproof_properties.brokers.runs"),
    ("brokers", "rocketproof_properties.brokers.runs", "rocketproof_properties.brokers.strace"),
    ("programs", "rocketproof_properties.programs.vocabulary", "rocketproof_properties.programs.pool"),
    ("catalogue", "rocketproof_properties.catalogue.claim", "rocketproof_properties.catalogue.source"),
    ("reports", "rocketproof_properties.reports.choices", "rocketproof_properties.reports.output"),
    ("reports", "rocketproof_properties.reports.files", "rocketproof_properties.reports.results"),
    ("lab", "rocketproof_lab.mutation", "rocketproof_lab.requirements"),
    ("mutation", "rocketproof_lab.mutation.runner", "rocketproof_lab.mutation.by_tests"),
    ("properties-circles", "rocketproof_properties.reports.output", "rocketproof_properties.commands"),
    ("properties-circles", "rocketproof_properties.commands.checks.rows", "rocketproof_properties.commands.checks.matrix"),
]
"""A contract, a package or module, and what it must not import."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*CONFIGURATION["session_options"]["root_packages"], cache_dir=None)


def holds(id_: str, graph: grimp.ImportGraph) -> bool:
    options = CONTRACTS[id_]
    contract = TYPES[options["type"]](options["name"], CONFIGURATION["session_options"], options)
    return bool(contract.check(graph, verbose=False).kept)


@pytest.mark.parametrize("id_", CONTRACTS)
def test_imports_keep_the_contract(id_: str, graph: grimp.ImportGraph) -> None:
    assert holds(id_, graph), f"an import goes against the contract {id_}: `lint-imports` shows it"


def test_every_contract_has_a_forbidden_import() -> None:
    assert {id_ for id_, _, _ in VIOLATIONS} == CONTRACTS.keys()


@pytest.mark.parametrize(("id_", "package", "imported"), VIOLATIONS)
def test_a_forbidden_import_breaks_the_contract(id_: str, package: str, imported: str, graph: grimp.ImportGraph) -> None:
    """Of a package a new module imports, so that no name of today's modules matters."""
    spoilt = deepcopy(graph)
    importer = f"{package}.spoilt" if graph.find_children(package) else package
    assert imported in graph.modules
    spoilt.add_module(importer)
    spoilt.add_import(importer=importer, imported=imported)
    assert not holds(id_, spoilt), f"{importer} imports {imported}, and the contract {id_} lets it pass"


def test_profiles_and_protocol_need_nothing_but_python() -> None:
    shared = ("rocketproof_profiles", "rocketproof_protocol")
    graph = grimp.build_graph(*shared, include_external_packages=True, cache_dir=None)
    own = {module for module in graph.modules if module.split(".")[0] in shared}
    needed = set().union(*(graph.find_modules_directly_imported_by(module) for module in own)) - own
    foreign = {module for module in needed if module.split(".")[0] not in sys.stdlib_module_names}
    assert not foreign, f"{shared} import {sorted(foreign)}, but model and impl share them as plain data"
