"""`validate --html DIR` of a broker with a planted fault: the page of the run leads to the history of each finding, with the refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rocketproof_lab.mutation.patch import prepare
from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.commands import run


@pytest.mark.slow
def test_page_of_run_links_history_of_each_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The broker accepts a queue id equal to the number of queues."""
    (planted,) = mutants(["M-01"])
    with prepare(planted.patches[""]).applied(), InProcess("P494").open() as running:
        address, server = running.brokers["broker-a"], str(running.name_server)
        where = [address, "--nameserver", server, "--profile", "P494", "--report", str(tmp_path / "report")]
        code = run(
            ["validate", *where, "--programs", "12", "--seed", "10", "--no-witnesses", "--shrink", "0", "--html", str(tmp_path / "page")]
        )
    assert code == 1
    assert "is the page of the run, with" in capsys.readouterr().err
    index = (tmp_path / "page" / "index.html").read_text("utf-8")
    findings = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["findings"]
    assert findings and any("CHK-10" in finding.get("rules", ()) for finding in findings)
    pages = set(re.findall(r'href="(witnesses/[^"]+\.html)"', index))
    assert len(pages) == len(findings), "findings of one history have a page each"
    assert {re.sub(r"(-\d+)?\.html$", "", page) for page in pages} == {f"witnesses/{Path(finding['history']).stem}" for finding in findings}
    for page in pages:
        text = (tmp_path / "page" / page).read_text("utf-8")
        assert "http://" not in re.sub(r"http://(www\.w3\.org|rocketmq\.apache\.org)", "", text)
    refused = [text for page in pages if "legal queue id" in (text := (tmp_path / "page" / page).read_text("utf-8"))]
    assert refused, "the guard that refuses is on the page of a history"
