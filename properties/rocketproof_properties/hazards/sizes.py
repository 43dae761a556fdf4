"""Hazards of sizes: messages that are acknowledged and flushed, that nothing can read, and what goes with them."""

from __future__ import annotations

from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol.flags import BORN_IPV6
from rocketproof_protocol.topics import HALF_TOPIC

from ..programs.sizes import half_length
from .cluster import StoryCluster
from .gallery import hazard
from .story import HazardScenario


def _lost(story: HazardScenario, cluster: StoryCluster, dispatched: int) -> None:
    """Two messages follow on one that was there before; the process ends."""
    cluster.dispatch()
    story.say("Two messages to another topic follow, and are acknowledged.")
    for _ in range(2):
        story.check("the answer", cluster.send("other").split(",")[0], "SUCCESS")
    story.check("messages of that topic for consumers", cluster.consumable("other"), dispatched)
    story.say("The process ends, and starts again: the log is cut off at the first record that cannot be read.")
    cluster.crash()
    cluster.restart()
    story.check("stored", cluster.stored(), ["T queue 0 offset 0", "other queue 0 offset 0"])


@hazard("HAZ-49", asserts="STO-01 STO-02 APP-08 REC-02", properties="INV-06 INV-36", profiles="P494 P49 P45 P40")
def names_with_more_bytes_than_characters(story: HazardScenario) -> None:
    """One group with a long name in another script, and every later message of the broker is lost with its process.

    The store tests that a topic has at most 127 characters (STO-02), and writes the length in bytes into one signed byte (APP-08). A
    dead-letter topic is made of the group's name without a look at it. The dispatcher leaves its record out; a start ends the log
    there (REC-02), though everything behind it was acknowledged and flushed.

    To avoid it: names of groups in ASCII; P533 refuses others.
    """
    cluster = story.cluster()
    cluster.send("T")
    cluster.send("other")
    group = "\u4e2d" * 60
    story.say("A group with 60 characters of three bytes each gives a message up.")
    story.check("the answer", cluster.send_back(0, group, level=-1, most=16), "SUCCESS")
    _lost(story, cluster, 3)


@hazard("HAZ-50", asserts="BAT-03 BAT-04 APP-08 REC-02 REC-04", properties="INV-06 INV-36", profiles="P49 P494 P533")
def properties_too_long_with_the_brokers_own(story: HazardScenario) -> None:
    """A batch's item with long properties, and every later message of the broker is lost with its process.

    The broker adds CLUSTER to each item's properties (BAT-03) when nobody asks any more how long they are, and writes their length
    into a signed short (APP-08). Dispatch of all topics stands still until the log has grown by as much again, or in P533 goes on
    behind it (REC-04); a start ends the log there (REC-02).

    To avoid it: properties well below 32 KB.
    """
    cluster = story.cluster()
    cluster.send("T")
    cluster.send("other")
    story.say("A batch of one message comes, with properties of 32760 bytes.")
    story.check("the answer", cluster.send("batch", items=[("a", {"k": "v" * 32758})]).split(",")[0], "SUCCESS")
    _lost(story, cluster, 3 if cluster.profile.dispatch_ends else 1)


@hazard("HAZ-51", asserts="APP-02 APP-08 REC-02", properties="INV-06 INV-36", profiles="P49 P494 P533")
def flags_of_longer_hosts(story: HazardScenario) -> None:
    """A client sets one bit of a message's flag, and every later message of the broker is lost with its process.

    Bits 16 and 32 of sysFlag say that the hosts in a record are of IPv6 (APP-08). A broker takes them from its client, counts the
    longer hosts, and writes those that it has. Nothing stands where it is looked for.

    To avoid it: clients that leave these bits to the broker, as Apache's do.
    """
    cluster = story.cluster()
    cluster.send("T")
    cluster.send("other")
    story.say("A message comes with bit 16 in its flag.")
    story.check("the answer", cluster.send("flags", sys_flag=BORN_IPV6).split(",")[0], "SUCCESS")
    _lost(story, cluster, 3)


@hazard("HAZ-52", asserts="REC-03 REC-04", properties="INV-36", profiles="P494 P49")
def filler_stops_dispatch(story: HazardScenario) -> None:
    """After a start no message of any topic reaches a consumer, until the next start or two gigabytes later.

    A queue whose first message could not be read begins with a filler, which says that it is a record of 2147483647 bytes. A start
    cuts off what stands behind the filler, and takes its end for the place up to which everything is dispatched (REC-03, REC-04).

    To avoid it: as for HAZ-51; another start helps.
    """
    cluster = story.cluster()
    cluster.send("other")
    story.say("The first message of a queue cannot be read (HAZ-51), the second can.")
    cluster.send("T", sys_flag=BORN_IPV6)
    cluster.dispatch()
    cluster.send("T")
    story.check("offsets of the queue", cluster.consumable(), 2)
    story.say("The process ends, and starts again. A message comes to another topic.")
    cluster.crash()
    cluster.restart()
    story.check("the answer", cluster.send("other").split(",")[0], "SUCCESS")
    story.check("messages of that topic for consumers", cluster.consumable("other"), 1)


@hazard("HAZ-61", asserts="TRX-04 STO-02", properties="AUX-33", profiles="P494 P49 P45 P533")
def half_message_without_room(story: HazardScenario) -> None:
    """One half message with long properties, and no producer of its broker is asked about half messages any more.

    Who asks what became of a half message puts it back first, at the end of the half queue, with one property more: how often it was
    checked. Where there is no room for that the store refuses it (STO-02), and the check begins anew with the same message, for a
    minute, and in the next round again. Whoever's half messages lie behind it are neither ended nor given up (AUX-33).

    To avoid it: properties well below 32 KB; the queue goes on when its producer has ended the message itself.
    """
    cluster = story.cluster(file_reserved_time=1_000_000)
    named = {"TRAN_MSG": "true", "PGROUP": "producers"}

    def checked() -> int:
        """Records of half messages behind a round of checks, with copies of those that were asked about."""
        cluster.act("time", millis=10_000)
        cluster.dispatch()
        cluster.do(cluster.broker().transaction_check.check())
        return sum(one.startswith(HALF_TOPIC) for one in cluster.stored())

    story.say("A half message comes, and nobody ends it. A round of checks asks about it, and puts a copy behind it.")
    story.check("the answer", cluster.send(properties=named).split(",")[0], "SUCCESS")
    story.check("records of the half topic", checked(), 2)
    story.say("Another comes, whose properties leave no room for the count of its checks, and a third. The first is asked about again.")
    room = PROPERTIES_LIMIT - half_length({**named, "p": "v"}, "T", "0", cluster.profile)
    for properties in ({**named, "p": "v" * (room + 2)}, named):
        story.check("the answer", cluster.send(properties=properties).split(",")[0], "SUCCESS")
    story.check("records of the half topic", checked(), 5)
    story.say("Another round passes: nobody is asked about the second or the third, nor about the first, whose copy lies behind them.")
    story.check("records of the half topic", checked(), 5)
