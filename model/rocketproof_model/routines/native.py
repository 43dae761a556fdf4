"""Machine code from LLVM text, compiled for this processor and cached on disk under the hash of its content.

The cache holds object files. Their names cover everything that they depend on: the text, the versions of llvmlite and LLVM, the processor
and its features, and the options. A file that does not load, or that another user may have written, is built again.
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

from .. import diskcache

OPTIMISE = {"0": 0, "1": 1, "3": 3}.get(os.environ.get("ROCKETPROOF_OPTIMISE", ""), 2)
"""LLVM's level of optimisation of machine code. Level 0 compiles ten times as fast, but searches take several times as long."""
PASSES = min(1, OPTIMISE)
"""Level of the passes over LLVM's text. Level 2 compiles a model 1.5 times as long, and its searches are no faster."""
_loaded: dict[str, Library] = {}
_one_at_a_time = threading.Lock()  # two threads that compile the same text would link it twice, which is an error


@dataclass(frozen=True, eq=False)
class Library:
    """Loaded functions by name. `seconds` is the CPU time of compiling or loading, `cached` whether the disk had the file."""

    addresses: dict[str, int]
    seconds: float
    cached: bool
    keep: Any


@cache
def _target() -> tuple[Any, str]:
    """Return the target machine of this host and the text that identifies it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=OPTIMISE, reloc="pic", codemodel="jitdefault", jit=True
    )
    version = ".".join(map(str, llvm.llvm_version_info))
    return machine, f"{llvmlite.__version__} {version} {platform.machine()} {machine.triple} {cpu} {features} O{OPTIMISE} {PASSES}"


def compile_text(text: str, names: tuple[str, ...]) -> Library:
    """Compile a module (or load it from the cache) and return the addresses of the named functions."""
    with _one_at_a_time:
        return _compiled(text, names)


def _compiled(text: str, names: tuple[str, ...]) -> Library:
    start = time.process_time()
    machine, words = _target()
    key = hashlib.sha256(f"{words}\n{text}".encode()).hexdigest()
    library = _loaded.get(key)
    if library is None:
        path = diskcache.cache_directory() / f"{key}.o"
        image = diskcache.read(path)
        linked = _link(image, key, names, machine) if image is not None else None
        if linked is None:
            image = _build(text, machine)
            with suppress(OSError):  # without a writable cache the next process compiles again
                diskcache.write(path, image)
            linked = _link(image, key, names, machine)
            assert linked is not None, "LLVM refuses an object that it has just made"
            library = Library(linked[0], time.process_time() - start, False, linked[1])
        else:
            library = Library(linked[0], time.process_time() - start, True, linked[1])
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
    """Return the process's linker; libraries stay loaded as long as it exists."""
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
