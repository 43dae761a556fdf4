"""Machine code from LLVM text, compiled for this processor and kept on disk under the hash of its content.

The cache holds object files. Their names cover everything that they depend on: the text, the versions of llvmlite and
LLVM, the processor and its features, and the options. A file that does not load, or that may be somebody else's, is built again.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .. import kept

OPTIMISE = {"0": 0, "1": 1, "3": 3}.get(os.environ.get("ROCKETPROOF_OPTIMISE", ""), 2)
"""LLVM's level of optimisation of machine code. At 0 it compiles ten times as fast, and a search takes several times as long."""
PASSES = min(1, OPTIMISE)
"""Level of the passes over LLVM's text. Level 2 takes half as long again to compile a model, and its searches are no quicker."""
_loaded: dict[str, Library] = {}
_one_at_a_time = threading.Lock()  # two threads that compile the same text would link it twice, which the linker refuses


@dataclass(frozen=True, eq=False)
class Library:
    """Loaded functions by name. `seconds` is the CPU time that compiling or loading took, `cached` whether the disk had it."""

    addresses: dict[str, int]
    seconds: float
    cached: bool
    keep: Any


@cache
def _target() -> tuple[Any, str]:
    """The target machine of this host and the words that name it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=OPTIMISE, reloc="pic", codemodel="jitdefault", jit=True
    )
    version = ".".join(map(str, llvm.llvm_version_info))
    return machine, f"{llvmlite.__version__} {version} {platform.machine()} {machine.triple} {cpu} {features} O{OPTIMISE} {PASSES}"


def compile_text(text: str, names: tuple[str, ...]) -> Library:
    """Compile a module (or take it from the cache) and return the addresses of the named functions."""
    with _one_at_a_time:
        return _compiled(text, names)


def _compiled(text: str, names: tuple[str, ...]) -> Library:
    start = time.process_time()
    machine, words = _target()
    key = hashlib.sha256(f"{words}\n{text}".encode()).hexdigest()
    library = _loaded.get(key)
    if library is None:
        path = kept.cache_directory() / f"{key}.o"
        image = kept.read(path)
        found = _link(image, key, names, machine) if image is not None else None
        if found is None:
            image = _build(text, machine)
            with suppress(OSError):  # without a writable cache the next process compiles again
                kept.write(path, image)
            found = _link(image, key, names, machine)
            assert found is not None, "LLVM refuses an object that it has just made"
            library = Library(found[0], time.process_time() - start, False, found[1])
        else:
            library = Library(found[0], time.process_time() - start, True, found[1])
        _loaded[key] = library
    return library


def _build(text: str, machine: Any) -> bytes:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=PASSES))
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


@cache
def _linker() -> Any:
    """One linker for the process; libraries stay loaded as long as it lives."""
    return llvm.create_lljit_compiler(_target()[0])


def _link(image: bytes, key: str, names: tuple[str, ...], machine: Any) -> tuple[dict[str, int], Any] | None:
    builder = llvm.JITLibraryBuilder().add_object_img(image)
    for name in names:
        builder.export_symbol(name)
    try:
        tracker = builder.link(_linker(), key)
    except RuntimeError:
        return None
    return {name: tracker[name] for name in names}, tracker
