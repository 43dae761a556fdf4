"""Hazards of the file with a broker's topics."""

from __future__ import annotations

import json

from .cluster import HazardCluster
from .gallery import hazard
from .scenario import HazardScenario

FILE = "store/config/topics.json"
NAMES = ("T1", "T2", "T3", "T4")

WINDOWS = (
    (0, "before the new table is written", "main T2, .bak T1, .tmp missing", "T2"),
    (1, "when .tmp was opened", "main T2, .bak T1, .tmp empty", "T2"),
    (2, "inside the write of .tmp", "main T2, .bak T1, .tmp broken", "T2"),
    (3, "when .tmp is complete", "main T2, .bak T1, .tmp T3", "T2"),
    (4, "when .bak was opened", "main T2, .bak empty, .tmp T3", "T2"),
    (5, "inside the write of .bak", "main T2, .bak broken, .tmp T3", "T2"),
    (6, "when .bak is complete", "main T2, .bak T2, .tmp T3", "T2"),
    (7, "when the main file was deleted", "main missing, .bak T2, .tmp T3", "T2"),
    (8, "when .tmp was renamed", "main T3, .bak T2, .tmp missing", "T3"),
)
"""The number of completed disk steps, their description, the newest topic in each file, and the newest topic after a restart."""


def newest(content: bytes | None) -> str:
    """Return a table's newest topic, or the state of a damaged file."""
    if content is None:
        return "missing"
    if not content:
        return "empty"
    try:
        table = json.loads(content)["topicConfigTable"]
    except ValueError:
        return "broken"
    return max((name for name in NAMES if name in table), default="no topic")


def files(cluster: HazardCluster) -> str:
    """Describe the main file, its backup and the temporary file."""
    disk = cluster.node().disk
    return f"main {newest(disk.read(FILE))}, .bak {newest(disk.read(FILE + '.bak'))}, .tmp {newest(disk.read(FILE + '.tmp'))}"


def started(cluster: HazardCluster) -> str:
    """Restart the broker, and return the newest topic that it knows."""
    if not cluster.restart():
        return "the start fails"
    return max((name for name in NAMES if name in cluster.broker().topics.table), default="no topic")


def two_topics(scenario: HazardScenario) -> HazardCluster:
    """Return a cluster whose broker has written its table twice: with T1, and then with T1 and T2."""
    cluster = scenario.cluster()
    cluster.send("T1")
    cluster.send("T2")
    return cluster


def lose_power(cluster: HazardCluster, main: bytes) -> None:
    """Let the power fail; no connection is closed, and `main` is left of a file that was never forced to the device."""
    cluster.crash(silent=True)
    cluster.node().disk.files[FILE] = bytearray(main)


@hazard(
    "HAZ-35",
    asserts="PER-02 PER-03 PER-05 PER-06 PER-07 PER-08 NS-04",
    properties="INV-26 INV-27 INV-28 INV-29",
    profiles="P49 P40 P45 P494",
)
def persist_windows(scenario: HazardScenario) -> None:
    """A crash while the topic table is written can lose topics, all topics, or the broker's ability to start.

    The table is written to .tmp, the old file is copied to .bak, the main file is deleted, and .tmp is renamed (PER-02). Nothing is forced
    to the device, and .tmp is never read (PER-03). A process crash loses at most the newest topic (PER-05), unless there was no file
    before: then the restart silently finds no topic. After a power loss the main file may be empty or corrupt. The broker starts from .bak,
    and its next persist copies the bad file over the good backup (PER-06). A start from .bak does not change .bak until there are two good
    files again (PER-07). The name server keeps the lost topics (PER-08, NS-04).

    To avoid it: keep copies of topics.json elsewhere, and check the file before a broker is started after a power loss.
    """
    scenario.step("T1 and T2 are in the file. T3 is created, and the process crashes at each step in turn. Then the broker restarts.")
    for steps, where, left, found in WINDOWS:
        cluster = two_topics(scenario)
        with cluster.process_ends(after=steps):
            cluster.calling(cluster.request("T3"))
        scenario.check(where, f"{files(cluster)}; a start finds {started(cluster)}", f"{left}; a start finds {found}")

    cluster = scenario.cluster()
    scenario.step("The same with the very first topic: the process crashes before the rename.")
    with cluster.process_ends(after=4):
        cluster.calling(cluster.request("T1"))
    scenario.check("the files", files(cluster), "main missing, .bak missing, .tmp T1")
    scenario.check("a start finds", started(cluster), "no topic")

    cluster = two_topics(scenario)
    scenario.step("The process crashes before the rename twice in a row, for T3 and for T4.")
    with cluster.process_ends(after=7):
        cluster.calling(cluster.request("T3"))
    scenario.check("a start finds", started(cluster), "T2")
    with cluster.process_ends(after=4):
        cluster.calling(cluster.request("T4"))
    scenario.check("the files", files(cluster), "main missing, .bak T2, .tmp T4")
    scenario.check("a start finds", started(cluster), "T2")

    cluster = two_topics(scenario)
    cluster.update_topic("T2", 8, 8)
    scenario.step("T2 gets 8 queues, and the power fails. The restart registers the older table, and the name server accepts it.")
    scenario.check("T2 at the name server before", cluster.routed("T2"), ["broker-a: read 8, write 8, RW-"])
    lose_power(cluster, b"")
    cluster.restart()
    scenario.check("T2 at the name server", cluster.routed("T2"), ["broker-a: read 4, write 4, RW-"])

    for main, content, found in ((b"", "empty", "no topic"), (b'{"topicConfigTab', "broken", "the start fails")):
        cluster = two_topics(scenario)
        cluster.send("T3")
        version = cluster.broker().topics.data_version.counter
        scenario.step(f"T3 is in the file and known to the name server. The power fails, and the main file is {content}.")
        lose_power(cluster, main)
        scenario.check("the files", files(cluster), f"main {content}, .bak T2, .tmp missing")
        scenario.check("a start finds", started(cluster), "T2")
        scenario.check("the version is lower by", version - cluster.broker().topics.data_version.counter, 1)
        scenario.check("T3 at the name server", cluster.routed("T3"), ["broker-a: read 4, write 4, RW-"])

        scenario.step("T4 is created, and the process crashes before the rename.")
        with cluster.process_ends(after=7):
            cluster.calling(cluster.request("T4"))
        scenario.check("the files", files(cluster), f"main missing, .bak {content}, .tmp T4")
        scenario.check("a start finds", started(cluster), found)
