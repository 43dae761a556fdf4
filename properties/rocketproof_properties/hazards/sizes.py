"""Hazards of sizes: acknowledged and flushed messages that are unreadable, and the messages lost with them."""

from __future__ import annotations

from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol.flags import BORN_IPV6
from rocketproof_protocol.topics import HALF_TOPIC

from ..programs.sizes import half_length
from .cluster import HazardCluster
from .gallery import hazard
from .scenario import HazardScenario


def _lost(scenario: HazardScenario, cluster: HazardCluster, dispatched: int) -> None:
    """Send two messages to a topic that has one, crash the process, and check which messages are lost."""
    cluster.dispatch()
    scenario.step("Two messages to another topic follow, and are acknowledged.")
    for _ in range(2):
        scenario.check("the answer", cluster.send("other").split(",")[0], "SUCCESS")
    scenario.check("messages of that topic for consumers", cluster.consumable("other"), dispatched)
    scenario.step("The process crashes and restarts: the log is truncated at the first unreadable record.")
    cluster.crash()
    cluster.restart()
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0", "other queue 0 offset 0"])


@hazard("HAZ-49", asserts="STO-01 STO-02 APP-08 REC-02", properties="INV-06 INV-36", profiles="P494 P49 P45 P40")
def names_with_more_bytes_than_characters(scenario: HazardScenario) -> None:
    """A group with a long non-ASCII name makes the broker lose every later message when its process ends.

    The store checks that a topic has at most 127 characters (STO-02), but writes the length in bytes into one signed byte (APP-08). A
    dead-letter topic is created from the group's name without a check. The dispatcher skips its record. A restart ends the log there
    (REC-02), although everything after it was acknowledged and flushed.

    To avoid it: use ASCII names for groups; P533 refuses others.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    cluster.send("other")
    group = "\u4e2d" * 60
    scenario.step("A group with 60 characters of three bytes each gives a message up.")
    scenario.check("the answer", cluster.send_back(0, group, level=-1, most=16), "SUCCESS")
    _lost(scenario, cluster, 3)


@hazard("HAZ-50", asserts="BAT-03 BAT-04 APP-08 REC-02 REC-04", properties="INV-06 INV-36", profiles="P49 P494 P533")
def properties_too_long_with_the_brokers_own(scenario: HazardScenario) -> None:
    """A batch item with long properties makes the broker lose every later message when its process ends.

    The broker adds CLUSTER to each item's properties (BAT-03) after their length is checked, and writes their length into a signed 16-bit
    number (APP-08). Dispatch of all topics stops until the log has grown by the same amount; in P533 it continues after the record
    (REC-04). A restart ends the log there (REC-02).

    To avoid it: keep properties well below 32 KB.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    cluster.send("other")
    scenario.step("A batch of one message arrives, with properties of 32760 bytes.")
    scenario.check("the answer", cluster.send("batch", items=[("a", {"k": "v" * 32758})]).split(",")[0], "SUCCESS")
    _lost(scenario, cluster, 3 if cluster.profile.dispatch_ends else 1)


@hazard("HAZ-51", asserts="APP-02 APP-08 REC-02", properties="INV-06 INV-36", profiles="P49 P494 P533")
def flags_of_longer_hosts(scenario: HazardScenario) -> None:
    """A client's single flag bit makes the broker lose every later message when its process ends.

    Bits 16 and 32 of sysFlag declare that the hosts in a record are IPv6 (APP-08). A broker accepts them from its client and computes the
    size with longer hosts, but writes the hosts that it has. A reader then finds every later field at the wrong position.

    To avoid it: use clients that leave these bits to the broker, as Apache's do.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    cluster.send("other")
    scenario.step("A message with bit 16 in its flag arrives.")
    scenario.check("the answer", cluster.send("flags", sys_flag=BORN_IPV6).split(",")[0], "SUCCESS")
    _lost(scenario, cluster, 3)


@hazard("HAZ-52", asserts="REC-03 REC-04", properties="INV-36", profiles="P494 P49")
def filler_stops_dispatch(scenario: HazardScenario) -> None:
    """After a restart no message of any topic reaches a consumer, until the next restart or two gigabytes later.

    A queue whose first message could not be read begins with a filler entry, which claims a record of 2147483647 bytes. A restart truncates
    the queue after the filler, and takes the filler's end as the position up to which everything is dispatched (REC-03, REC-04).

    To avoid it: as for HAZ-51. Another restart fixes it.
    """
    cluster = scenario.cluster()
    cluster.send("other")
    scenario.step("The first message of a queue cannot be read (HAZ-51), the second can.")
    cluster.send("T", sys_flag=BORN_IPV6)
    cluster.dispatch()
    cluster.send("T")
    scenario.check("offsets of the queue", cluster.consumable(), 2)
    scenario.step("The process crashes and restarts. A message to another topic arrives.")
    cluster.crash()
    cluster.restart()
    scenario.check("the answer", cluster.send("other").split(",")[0], "SUCCESS")
    scenario.check("messages of that topic for consumers", cluster.consumable("other"), 1)


@hazard("HAZ-61", asserts="TRX-04 STO-02", properties="AUX-33", profiles="P494 P49 P45 P533")
def half_message_without_room(scenario: HazardScenario) -> None:
    """One half message with long properties stops all checks of half messages on its broker.

    Before it queries a producer, the check appends the half message again at the end of the half queue, with one more property: the number
    of its checks. If there is no room for that, the store refuses it (STO-02). The check then repeats with the same message for a minute,
    and again in the next round. Half messages after it are neither ended nor given up (AUX-33).

    To avoid it: keep properties well below 32 KB. The queue continues once the message's producer has ended it.
    """
    cluster = scenario.cluster(file_reserved_time=1_000_000)
    named = {"TRAN_MSG": "true", "PGROUP": "producers"}

    def checked() -> int:
        """Run a round of checks, and return the number of records of half messages, including copies."""
        cluster.act("time", millis=10_000)
        cluster.dispatch()
        cluster.do(cluster.broker().transaction_check.check())
        return sum(record.startswith(HALF_TOPIC) for record in cluster.stored())

    scenario.step("A half message arrives and is not ended. A round of checks queries its producer, and appends a copy.")
    scenario.check("the answer", cluster.send(properties=named).split(",")[0], "SUCCESS")
    scenario.check("records of the half topic", checked(), 2)
    scenario.step("A second arrives, whose properties leave no room for the count of its checks, and a third. The first is checked again.")
    room = PROPERTIES_LIMIT - half_length({**named, "p": "v"}, "T", "0", cluster.profile)
    for properties in ({**named, "p": "v" * (room + 2)}, named):
        scenario.check("the answer", cluster.send(properties=properties).split(",")[0], "SUCCESS")
    scenario.check("records of the half topic", checked(), 5)
    scenario.step(
        "Another round passes: no producer is queried about the second or the third, nor about the first, whose copy is after them."
    )
    scenario.check("records of the half topic", checked(), 5)
