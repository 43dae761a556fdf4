"""The message for a release that Maven does not fetch: one line with the fix, without output of Maven."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proportion import few
from rocketproof_properties.commands import run

REPOSITORY = "https://repository.invalid/maven2"
SAID = {
    "no release": (
        f"[ERROR] Failed to execute goal: Could not find artifact org.apache.rocketmq:rocketmq-namesrv:jar:9.9.9 in central ({REPOSITORY})",
        "there is no such release of RocketMQ in Maven's repository; give one such as apache:4.9.4",
    ),
    "known for long": (
        f"[ERROR] rocketmq-broker:jar:9.9.9 was not found in {REPOSITORY} during a previous attempt. This failure was cached",
        "there is no such release of RocketMQ",
    ),
    "no network": (
        f"[ERROR] Could not transfer artifact from/to central ({REPOSITORY}): repository.invalid: Name or service not known",
        "Maven's repository does not answer; check the network, or point ROCKETMQ_HOME at an unpacked 9.9.9",
    ),
    "something else": ("[ERROR] java.lang.OutOfMemoryError", "Maven could not fetch it; `mvn dependency:get"),
    "nothing": ("", "Maven could not fetch it; `mvn dependency:get"),
}

PROFILE = ("profile", "apache:9.9.9")
OTHERS = [
    ("validate", "--target", "apache:9.9.9", "--programs", "1"),
    ("validate", "--target", "apache:9.9.9", "--self-test"),
    ("level", "--target", "apache:9.9.9"),
]


@pytest.mark.skipif(os.name != "posix", reason="Maven is a script of a shell here")
@pytest.mark.parametrize(("name", "tokens"), few([*((name, PROFILE) for name in SAID), *(("no release", tokens) for tokens in OTHERS)], 3))
def test_release_that_maven_does_not_fetch(
    name: str, tokens: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, said = SAID[name]
    (tmp_path / "bin").mkdir()
    for program, text in {"mvn": f"cat <<'END'\n{printed}\nEND\nexit 1", "java": "exit 0"}.items():
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("ROCKETMQ_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    code, shown = run(list(tokens)), capsys.readouterr()
    assert code == 2
    assert said in shown.err
    assert "[ERROR]" not in shown.out + shown.err and "repository.invalid" not in shown.out + shown.err
    assert len([line for line in shown.err.splitlines() if line.startswith("rocketproof: ")]) == 1
