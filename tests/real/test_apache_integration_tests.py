"""Apache's own integration tests of 4.9.4 against `rocketproof serve`; `properties/docs/results/client-tests.md` has the results.

The release's module `rocketmq-test` starts brokers in the tests' process. `integration/IntegrationTestBase.java` takes the place of the
class that does so, and describes brokers of `serve`. No test is changed.
"""

from __future__ import annotations

import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from otherclients import java_jars

from rocketproof_properties.brokers import jars
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.served import Served

pytestmark = pytest.mark.nightly
COMMANDS = ("java", "javac", "mvn")
HERE = Path(__file__).parent / "integration"
LEFT_OUT = ("/tls/", "DLedgerProduceAndConsumeIT", "BaseBroadCastIT", "SqlFilterIT")
"""TLS, replication by DLedger and SQL filters are not served; `SqlFilterIT` waits for ever. `BaseBroadCastIT` has no tests."""
SECONDS = 3000


def classes(folder: Path) -> list[str]:
    """Return the names of the test classes."""
    (jar,) = folder.glob("*-tests.jar")
    names = (name for name in zipfile.ZipFile(jar).namelist() if name.endswith("IT.class"))
    return sorted(name.removesuffix(".class").replace("/", ".") for name in names if not any(part in name for part in LEFT_OUT))


def test_all_pass(tmp_path: Path) -> None:
    folder = java_jars(HERE / "pom.xml")
    compiled = ["javac", "-nowarn", "-d", tmp_path, "-cp", f"{folder}/*", *HERE.glob("*.java")]
    subprocess.run(compiled, check=True, capture_output=True, timeout=SECONDS)
    with Served("P494").open(Setup(brokers=2)) as running:
        port = f"-Dnamesrv.port={str(running.name_server).rpartition(':')[2]}"
        command = [jars.java(), "-Xmx512m", "-XX:TieredStopAtLevel=1", f"-Duser.home={tmp_path}", port, "-cp", f"{tmp_path}:{folder}/*"]
        command += ["Integration", *classes(folder)]
        # The tests write target/it_test.log.
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=True)
    results = [line.split("\t") for line in done.stdout.splitlines()]
    assert [result for result in results if result[0] == "failed"] == []
    assert Counter(result[0] for result in results)["passed"] > 90
