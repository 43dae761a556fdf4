"""Hazards of the file that holds a broker's topics."""

from __future__ import annotations

import json

from .cluster import StoryCluster
from .gallery import hazard
from .story import HazardScenario

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
"""The steps on the disk that were done, where that is, the files by their newest topic, and what a start then finds."""


def newest(content: bytes | None) -> str:
    """A table's newest topic, or what is wrong with the file."""
    if content is None:
        return "missing"
    if not content:
        return "empty"
    try:
        table = json.loads(content)["topicConfigTable"]
    except ValueError:
        return "broken"
    return max((name for name in NAMES if name in table), default="no topic")


def files(cluster: StoryCluster) -> str:
    """The main file, its backup and the temporary one."""
    disk = cluster.node().disk
    return f"main {newest(disk.read(FILE))}, .bak {newest(disk.read(FILE + '.bak'))}, .tmp {newest(disk.read(FILE + '.tmp'))}"


def started(cluster: StoryCluster) -> str:
    """Start the broker again and give the newest topic that it knows."""
    if not cluster.restart():
        return "the start fails"
    return max((name for name in NAMES if name in cluster.broker().topics.table), default="no topic")


def two_topics(story: HazardScenario) -> StoryCluster:
    """A broker that has written its table twice: with T1, then with T2 too."""
    cluster = story.cluster()
    cluster.send("T1")
    cluster.send("T2")
    return cluster


def lose_power(cluster: StoryCluster, main: bytes) -> None:
    """The machine goes down, which nobody notices at once, and this is what is left of a file that never came to the device."""
    cluster.crash(silent=True)
    cluster.node().disk.files[FILE] = bytearray(main)


@hazard(
    "HAZ-35",
    asserts="PER-02 PER-03 PER-05 PER-06 PER-07 PER-08 NS-04",
    properties="INV-26 INV-27 INV-28 INV-29",
    profiles="P49 P40 P45 P494",
)
def persist_windows(story: HazardScenario) -> None:
    """A crash while the table of topics is written can lose topics, all topics, or the broker's ability to start.

    The table is written to .tmp, the old one copied to .bak, the main file deleted, .tmp renamed (PER-02). Nothing is forced to
    the device, and .tmp is never read (PER-03). A crash of the process costs the newest topic at most (PER-05), unless there
    was no file before: then the start finds nothing at all and does not mind. After a loss of power the main file may be empty
    or broken; the broker starts from .bak, and its next persist copies the bad file over the good backup (PER-06). A start from
    .bak leaves .bak alone until there are two good files again (PER-07). What was lost stays at the name server (PER-08, NS-04).

    To avoid it: copies of topics.json elsewhere; and a look at it before a broker is started after a loss of power.
    """
    story.say("T1 and T2 are in the file. T3 is created, and the process ends at every place in turn; what a start finds then.")
    for steps, where, left, found in WINDOWS:
        cluster = two_topics(story)
        with cluster.process_ends(after=steps):
            cluster.calling(cluster.request("T3"))
        story.check(where, f"{files(cluster)}; a start finds {started(cluster)}", f"{left}; a start finds {found}")

    cluster = story.cluster()
    story.say("The same with the first topic ever: the process ends before the rename.")
    with cluster.process_ends(after=4):
        cluster.calling(cluster.request("T1"))
    story.check("the files", files(cluster), "main missing, .bak missing, .tmp T1")
    story.check("a start finds", started(cluster), "no topic")

    cluster = two_topics(story)
    story.say("The process ends before the rename twice in a row, for T3 and for T4.")
    with cluster.process_ends(after=7):
        cluster.calling(cluster.request("T3"))
    story.check("a start finds", started(cluster), "T2")
    with cluster.process_ends(after=4):
        cluster.calling(cluster.request("T4"))
    story.check("the files", files(cluster), "main missing, .bak T2, .tmp T4")
    story.check("a start finds", started(cluster), "T2")

    cluster = two_topics(story)
    cluster.update_topic("T2", 8, 8)
    story.say("T2 gets 8 queues, and the power fails. The start registers the older table, and the name server takes it.")
    story.check("T2 at the name server before", cluster.routed("T2"), ["broker-a: read 8, write 8, RW-"])
    lose_power(cluster, b"")
    cluster.restart()
    story.check("T2 at the name server", cluster.routed("T2"), ["broker-a: read 4, write 4, RW-"])

    for main, content, found in ((b"", "empty", "no topic"), (b'{"topicConfigTab', "broken", "the start fails")):
        cluster = two_topics(story)
        cluster.send("T3")
        version = cluster.broker().topics.data_version.counter
        story.say(f"T3 is in the file and known to the name server. The power fails, and the main file is {content}.")
        lose_power(cluster, main)
        story.check("the files", files(cluster), f"main {content}, .bak T2, .tmp missing")
        story.check("a start finds", started(cluster), "T2")
        story.check("the version is lower by", version - cluster.broker().topics.data_version.counter, 1)
        story.check("T3 at the name server", cluster.routed("T3"), ["broker-a: read 4, write 4, RW-"])

        story.say("T4 is created, and the process ends before the rename.")
        with cluster.process_ends(after=7):
            cluster.calling(cluster.request("T4"))
        story.check("the files", files(cluster), f"main missing, .bak {content}, .tmp T4")
        story.check("a start finds", started(cluster), found)
