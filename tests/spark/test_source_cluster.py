"""The data source on a local standalone cluster of two workers, one of which is killed during a query."""

import json
import sys
import time
from pathlib import Path

from standalone import WAIT, bare_python, cluster, kill, process
from written_store import Sent, write_store

HERE = Path(__file__).parent


def begun(marks: Path) -> list[str]:
    """Return the executor of each started task."""
    return [mark.name.split("-")[0] for mark in marks.iterdir()]


def test_killed_worker_loses_no_row_and_other_still_searches(tmp_path: Path) -> None:
    stored = write_store(tmp_path / "store", [Sent(f"topic{n % 5}", n % 4, bytes(n % 200)) for n in range(800)], 1 << 15)
    marks = tmp_path / "marks"
    marks.mkdir()
    workers = {"PYSPARK_PYTHON": str(bare_python(tmp_path / "python"))}
    with cluster(tmp_path) as (url, worker):
        script = str(HERE / "cluster_query.py")
        with process(tmp_path / "query.log", sys.executable, script, url, str(tmp_path / "store"), str(marks), **workers) as query:
            deadline = time.monotonic() + WAIT
            while (len(begun(marks)) < 6 or len(set(begun(marks))) < 2) and query.poll() is None:
                assert time.monotonic() < deadline, (tmp_path / "query.log").read_text()[-2000:]
                time.sleep(0.05)
            assert query.poll() is None, (tmp_path / "query.log").read_text()[-2000:]
            kill(worker)
            query.wait(WAIT)
        said = (tmp_path / "query.log").read_text()
        assert query.returncode == 0, said[-3000:]
        # Behind the answer Java may complain of the worker that is lost.
        answer = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        assert (answer["count"], answer["sum"]) == (len(stored), sum(each.offset for each in stored))

        rows = []
        for engine in (["spark", "--master", url], ["explicit"]):
            words = ["-m", "rocketproof_properties.commands", "check", "--scope", "answers", "--property", "INV-01", "--json", "rows.json"]
            with process(tmp_path / "check.log", sys.executable, *words, "--engine", *engine, **workers) as check:
                assert check.wait(WAIT) == 0, (tmp_path / "check.log").read_text()[-3000:]
            rows.append([(row["verdict"], row["states"], row["transitions"]) for row in json.loads((tmp_path / "rows.json").read_text())])
        assert rows[0] == rows[1] and rows[0]
