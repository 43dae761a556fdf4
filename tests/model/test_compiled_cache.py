"""Compiled functions are cached for the most recently used versions of a package."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from rocketproof_model import diskcache
from rocketproof_model.routines import compiled


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose files the test changes, with its own cache."""
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_directory", compiled._directory.__wrapped__)  # each call reads the package as another process would
    made = tmp_path / "toys"
    made.mkdir()
    return made


def use(package: Path, text: str, hours_ago: float) -> Path:
    """Create the folder of a package version with a file in it, last used `hours_ago`."""
    (package / "one.py").write_text(text)
    folder = compiled._directory(package)
    (folder / "inner").mkdir(parents=True, exist_ok=True)
    (folder / "inner" / "one.nbi").write_bytes(b"index")
    then = time.time() - 3600 * hours_ago
    os.utime(folder, (then, then))
    return folder


def test_the_last_used_folders_stay(package: Path) -> None:
    folders = [use(package, f"n = {n}", hours_ago=20 - n) for n in range(diskcache.KEPT)]
    assert len(set(folders)) == diskcache.KEPT and all(map(Path.exists, folders))
    assert use(package, "n = 0", hours_ago=2) == folders[0], "the same files, the same folder"
    newest = use(package, "n = 99", hours_ago=2)
    assert [folder.exists() for folder in (*folders, newest)] == [True, False, True, True, True]


def test_a_folder_possibly_in_use_stays(package: Path) -> None:
    folders = [use(package, f"n = {n}", hours_ago=0.9) for n in range(3 * diskcache.KEPT)]
    assert all(map(Path.exists, folders))


def test_folders_of_other_names_stay(package: Path) -> None:
    parent = use(package, "n = 0", hours_ago=50).parent
    others = [parent / "toys-and-others-0123456789abcdef", parent / "toys-mine", parent / f"{'0' * 64}.o"]
    for other in others:
        other.mkdir()
        os.utime(other, (0, 0))
    for n in range(3 * diskcache.KEPT):
        use(package, f"n = {n + 1}", hours_ago=40 - n)
    assert all(map(Path.exists, others))
    assert len([path for path in parent.iterdir() if path not in others]) == diskcache.KEPT


def test_function_with_a_removed_folder_is_cached_again(package: Path) -> None:
    add = _add(package)
    assert add(1, 2) == 3
    folder = compiled._directory(package)
    before = len(list(folder.rglob("*.nbc")))
    shutil.rmtree(folder)
    assert add(1.5, 2) == 3.5
    assert before == 1 and len(list(folder.rglob("*.nbc"))) == 1


class _Planted:
    """Calls a function when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise AssertionError('a planted pickle ran')",))


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("change", ["planted", "a flipped bit", "others may write"])
def test_a_damaged_or_foreign_file_is_compiled_again(package: Path, kind: str, change: str) -> None:
    add = _add(package)
    assert add(1, 2) == 3 and add.stats.cache_misses.total() == 1
    found = _add(package)
    assert found(1, 2) == 3 and found.stats.cache_hits.total() == 1
    (file,) = compiled._directory(package).rglob(f"*.{kind}")
    if change == "planted":
        file.write_bytes(pickle.dumps(_Planted()) * 2)
    elif change == "a flipped bit":
        whole = bytearray(file.read_bytes())
        whole[-20] ^= 4
        file.write_bytes(whole)
    else:
        file.chmod(0o666)
    again = _add(package)
    assert again(1, 2) == 3 and again.stats.cache_misses.total() == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "it was replaced"
    assert _add(package)(1, 2) == 3


def _add(package: Path) -> Any:
    source = "def add(a, b):\n    return a + b\n"
    path = package / "one.py"
    if not path.exists():
        path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    return compiled.compiled(names["add"])


def test_a_cache_that_cannot_be_written_is_no_error(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = package.parent / "blocked"
    blocked.write_text("a file")
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(blocked))
    (package / "one.py").write_text("n = 0")
    assert compiled._directory(package).parent == blocked
