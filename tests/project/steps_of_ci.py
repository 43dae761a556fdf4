"""`.ci/steps.py` as a module, which no folder of the path has."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load() -> ModuleType:
    made = importlib.util.spec_from_file_location("ci_steps", ROOT / ".ci" / "steps.py")
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules[made.name] = module  # dataclasses look for it there
    made.loader.exec_module(module)
    return module


CI = load()
