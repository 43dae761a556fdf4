"""Run a Python file that a user wrote: a model, or a program of requests.

Every error is one line `file:line:column: what; how to fix it`.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from rocketproof_model import ModelError
from rocketproof_model.errors import column, position

from .choices import InputError, offer


class UserFileKind(NamedTuple):
    """What a file contains, for errors: its `name`, what to give instead (`wanted`), and the name that the file must define (`main`)."""

    name: str
    wanted: str
    main: str


def read(path: str, kind: UserFileKind) -> str:
    """Return the text of a file. Raises InputError with the files next to it if there is none."""
    file = Path(path)
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        siblings = file.parent if file.parent.is_dir() else Path()
        names = [str(siblings / f.name) if file.parent != Path() else f.name for f in siblings.glob("*.py")]
        raise InputError(f"no such file {path}; {offer(path, names) if names else f'give the path of {kind.wanted}'}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; give the path of {kind.wanted}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8 text; give the path of {kind.wanted}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give the path of {kind.wanted}") from None


def execute(path: str, source: str, kind: UserFileKind) -> ModuleType:
    """Run the text of a file as a module. Its folder is on the import path meanwhile. Raises InputError for any exception."""
    name = f"rocketproof_{kind.name.replace(' ', '_')}_" + "".join(c if c.isalnum() else "_" for c in str(Path(path).resolve()))
    module = ModuleType(name)
    module.__file__ = path
    folder = str(Path(path).resolve().parent)
    sys.modules[name] = module  # dataclasses and similar code look up their module
    sys.path.insert(0, folder)
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        where = f"{error.filename or path}:{error.lineno or 1}:{max(error.offset or 1, 1)}"
        raise InputError(f"{where}: {error.msg}; correct the Python syntax there") from None
    except ValueError as error:
        if "null bytes" not in str(error):
            raise failure(path, source, error, kind) from None
        raise InputError(f"{path}:1:1: the file contains null bytes; give a Python source file") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever a user's file does)
        raise failure(path, source, error, kind) from None
    finally:
        sys.path.remove(folder)
    return module


def failure(path: str, source: str, error: BaseException, kind: UserFileKind) -> InputError:
    """Return the one-line error for an exception from the file, with the last place in the file that raised it.

    A ModelError states its place itself.
    """
    if isinstance(error, ModelError):
        return InputError(str(error))
    places = frames(path, error)
    place = places[-1] if places else place_of(path, source, kind.main)
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}{': ' + text if text else ''}"
    return InputError(f"{place}: {what}; correct this line of the {kind.name}")


def frames(path: str, error: BaseException) -> list[str]:
    """Return the places `file:line:column` in the file that the exception passed through, the outermost first."""
    found, entry = [], error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == path:
            found.append(position(entry.tb_frame.f_code, entry.tb_lasti))
        entry = entry.tb_next
    return found


def place_of(path: str, source: str, name: str) -> str:
    """Return `file:line:column` of the definition of a name in the file, or of its begin."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if (isinstance(node, ast.FunctionDef) and node.name == name) or any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return place_in(path, source, node)
    return f"{path}:1:1"


def place_in(path: str, source: str, node: ast.expr | ast.stmt) -> str:
    """Return `file:line:column` of a node of the file's syntax tree."""
    return f"{path}:{node.lineno}:{column(source.splitlines()[node.lineno - 1], node.col_offset)}"
