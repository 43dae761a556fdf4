"""No code drops a KeyboardInterrupt: a handler raises it again, or first calls `interrupts.heard()` and then returns what there is.

A handler that does neither lets the command go on after Ctrl-C. After `heard`, callers look at what they got (`interrupted`, `stopped`, the
reason `interrupted`) before they start anything else, and `Watch` refuses further work.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rocketproof_impl
import rocketproof_lab
import rocketproof_model
import rocketproof_properties
import rocketproof_spec
import rocketproof_traces

PACKAGES = [
    Path(str(package.__file__)).parent
    for package in (
        rocketproof_model,
        rocketproof_spec,
        rocketproof_impl,
        rocketproof_traces,
        rocketproof_properties,
        rocketproof_lab,
    )
]
CATCHES = {"KeyboardInterrupt", "BaseException"}
MAY_SWALLOW = re.compile(r"KeyboardInterrupt|BaseException|except *:|finally")
MAY_HANDLE = re.compile(r"signal|set_wakeup_fd")
"""What a module has to contain to be worth parsing."""
THREADS = {
    "rocketproof_model/explicit/pool.py:_work": "the main thread raises it again",
    "rocketproof_traces/explorer/server.py:run": "the page stopped a search; no signal came",
    "rocketproof_properties/brokers/runs/performing.py:run": "the thread that waits raises it again",
}
"""Functions of threads that a signal does not interrupt."""
HANDLERS = {
    "rocketproof_model/interrupts.py": "handlers run after a block that is not to be split",
    "rocketproof_lab/mutation/generated/target.py": "a forked target ends with its parent",
    "rocketproof_properties/commands/checks/processes.py": "workers hear of Ctrl-C from their parent",
    "rocketproof_properties/commands/__init__.py": "from the first moment on",
    "rocketproof_properties/reports/interruption.py": "the one that raises KeyboardInterrupt",
    "rocketproof_properties/brokers/serve.py": "a server ends in order",
    "rocketproof_traces/common/pools.py": "workers hear of Ctrl-C from their parent",
    "rocketproof_traces/spark/session.py": "a handler that Spark replaces is put back",
}


def modules(words: re.Pattern[str]) -> Iterator[tuple[str, ast.Module]]:
    """Parse the modules whose text has one of these words."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            text = path.read_text("utf-8")
            if words.search(text):
                yield str(path.relative_to(package.parent)), ast.parse(text)


def names(node: ast.expr | None) -> set[str]:
    return {"BaseException"} if node is None else {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def swallows(node: ast.AST) -> bool:
    """Whether a handler, or a `suppress`, may drop a KeyboardInterrupt."""
    if isinstance(node, ast.ExceptHandler):
        return bool(names(node.type) & CATCHES) and not isinstance(node.body[-1], ast.Raise) and not any(map(hears, node.body[:3]))
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called == "suppress" and any(names(one) & CATCHES for one in node.args)
    if isinstance(node, ast.Try):  # `return` in `finally` drops any exception
        return any(isinstance(one, ast.Return) for statement in node.finalbody for one in ast.walk(statement))
    return False


def hears(node: ast.stmt) -> bool:
    """Whether a statement is a call of `heard`."""
    return isinstance(node, ast.Expr) and ast.unparse(node) in ("heard()", "interrupts.heard()")


def places(module: ast.Module) -> set[str]:
    """The functions that swallow it; the innermost one counts."""
    found = set()

    def visit(node: ast.AST, function: str) -> None:
        if swallows(node):
            found.add(function)
        inside = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(module, "")
    return found


def test_no_function_drops_a_keyboard_interrupt() -> None:
    found = {f"{name}:{function}" for name, module in modules(MAY_SWALLOW) for function in places(module)}
    assert found - THREADS.keys() == set(), "Ctrl-C is lost there: raise it again, or call interrupts.heard() first and return"
    assert THREADS.keys() - found == set(), "listed, but it drops none"


def test_only_listed_modules_handle_signals() -> None:
    found = set()
    for name, module in modules(MAY_HANDLE):
        for node in ast.walk(module):
            called = node.func if isinstance(node, ast.Call) else None
            if (isinstance(called, ast.Attribute) and called.attr in ("signal", "add_signal_handler", "set_wakeup_fd")) or (
                isinstance(called, ast.Name) and called.id in ("signal", "set_wakeup_fd")
            ):
                found.add(name)
    assert found == HANDLERS.keys()


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    work()\nexcept KeyboardInterrupt:\n    found = None",
        "try:\n    work()\nexcept (ValueError, BaseException) as error:\n    tell(error)",
        "try:\n    work()\nexcept:\n    pass",
        "with contextlib.suppress(OSError, KeyboardInterrupt):\n    work()",
        "def f():\n    try:\n        work()\n    finally:\n        return 1",
    ],
)
def test_what_swallows_it_is_found(text: str) -> None:
    assert MAY_SWALLOW.search(text) and places(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    work()\nexcept BaseException:\n    close()\n    raise",
        "try:\n    work()\nexcept Exception:\n    pass",
        "with suppress(OSError):\n    work()",
        "try:\n    work()\nfinally:\n    close()",
        "try:\n    work()\nexcept KeyboardInterrupt:\n    interrupts.heard()\n    found = None",
    ],
)
def test_what_lets_it_pass_is_not_found(text: str) -> None:
    assert not places(ast.parse(text))
