"""Hazards of requests and answers on the wire: missing answers, and unwanted answers."""

from __future__ import annotations

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.simulator.scheduler import SimulatedThread

from ..programs.vocabulary import plain
from .cluster import answer
from .gallery import hazard
from .pauses import at, stopped
from .scenario import HazardScenario


def outcome(call: SimulatedThread[Command]) -> str:
    """Return the answer, or "none" after the caller's timeout."""
    try:
        return answer(call.result())
    except TimedOut:
        return "none"


@hazard("HAZ-24", asserts="REM-09 SEND-44", properties="INV-01", profiles="P49 P494")
def no_answer_at_all(scenario: HazardScenario) -> None:
    """An exception at the wrong place leaves the client without an answer.

    A broker answers an exception before the put. In P49 everything after the put runs in a future, and an exception there is not caught
    (REM-09). An example is the size of a missing body, which is read when a put fails and a hook is registered (SEND-44). A producer waits
    until its timeout.

    To avoid it: no send hooks on brokers that serve third-party clients.
    """
    for profile in (scenario.profile, "P45"):
        cluster = scenario.cluster(profile=profile)
        cluster.act("hooks")
        scenario.step(f"A message without a body, whose properties are too long, arrives at a broker with a hook, in {profile}.")
        call = cluster.calling(cluster.request(body=None, properties={"KEYS": "k" * 40_000}), millis=3000)
        cluster.scheduler.advance(2999)
        scenario.check("the caller still waits after 2999 ms", not call.done.done, profile != "P45")
        cluster.scheduler.advance(1)
        expected = "SYSTEM_ERROR: java.lang.NullPointerException" if profile == "P45" else "none"
        scenario.check("the answer after 3000 ms", outcome(call), expected)


@hazard("HAZ-25", asserts="SEND-07", properties="INV-01", profiles="P49 P494")
def full_executor_loses_answers(scenario: HazardScenario) -> None:
    """A busy broker loses the answers of failures, and no others.

    In P49 another task of the same executor writes the answer of a finished send (SEND-07). If the executor's queue is full, that task is
    rejected and the answer is lost. A success is written before that (SEND-42).

    To avoid it: a send queue that never fills. Producers see the lost answers as timeouts.
    """
    for profile in (scenario.profile, "P45"):
        cluster = scenario.cluster(profile=profile)
        cluster.update_topic("T", 4, 4)
        threads = cluster.node().executors["send"]
        threads.threads, threads.capacity = 1, 1
        cluster.scheduler.stops = at("arrived")
        scenario.step(f"One send thread with one place in its queue, in {profile}. A message to a missing queue is being processed.")
        illegal = cluster.calling(cluster.request(queue=9), millis=3000)
        scenario.step("A valid message takes the place in the queue. Then the first message is refused.")
        good = cluster.calling(cluster.request(), millis=3000)
        cluster.scheduler.resume(stopped(cluster))
        cluster.scheduler.advance(3000)
        expected = "none" if profile != "P45" else "SYSTEM_ERROR: request queueId[9] is illegal"
        scenario.check("the answer to the illegal message", outcome(illegal).split(", ")[0], expected)
        scenario.check("the answer to the valid message", outcome(good), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-26", asserts="REM-05 REM-06 REM-10 REM-12", properties="INV-03")
def one_way_requests_get_answers(scenario: HazardScenario) -> None:
    """A one-way request gets an answer.

    A request with an unknown code is answered, even if it is one-way (REM-05). The caller has no entry for the answer (REM-12) and logs a
    line. 4.9.4 and 5.3.3 have a processor for unknown codes and do not answer. The refusals of a busy broker ignore the one-way flag as
    well, on arrival (REM-06) and in the queue (REM-10). So does the answer to a pull that was held (4.9.4). 5.3.3 checks the flag on
    arrival and for held pulls; its queue still ignores it.

    To avoid it: nothing is needed; such lines in a client's log are harmless.
    """
    cluster = scenario.cluster()
    connection = cluster.deployment.connect("broker-a")
    scenario.step("A client sends a one-way request with an unknown code.")
    connection.send_one_way(plain("unknown"))
    strays = [answer(response) for response in connection.strays]
    expected = [] if cluster.profile.default_processor else ["REQUEST_CODE_NOT_SUPPORTED:  request type 9999 not supported"]
    scenario.check("unwanted answers", strays, expected)
    scenario.step("A message is sent one-way.")
    connection.send_one_way(cluster.request())
    scenario.check("unwanted answers", len(connection.strays), len(expected))
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    scenario.step("A one-way pull is held, and the next message arrives.")
    cluster.dispatch()
    connection.send_one_way(plain("pull", topic="T", offset=1, hold=5000))
    cluster.send(queue=0)
    cluster.dispatch()
    cluster.scheduler.settle()
    expected += [] if cluster.profile.heeds_one_way else ["SUCCESS"]
    scenario.check("unwanted answers", [answer(response) for response in connection.strays], expected)
    scenario.step("The only send thread processes a message, and another message is sent one-way. It waits in the queue for 200 ms.")
    cluster.node().executors["send"].threads = 1
    cluster.scheduler.stops = at("arrived")
    cluster.calling(cluster.request())
    connection.send_one_way(cluster.request())
    cluster.scheduler.advance(200)
    cluster.broker().fail_fast()
    refused = "SYSTEM_BUSY: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 200ms, size of queue: 0"
    scenario.check("the unwanted answer", answer(connection.strays[-1]), refused)
    scenario.step("A put has held the lock of the log for two seconds, and a message is sent one-way.")
    cluster.act("store", state="busy")
    count = len(connection.strays)
    connection.send_one_way(cluster.request())
    rejected = [] if cluster.profile.heeds_one_way else ["SYSTEM_BUSY: [REJECTREQUEST]system busy, start flow control for a while"]
    scenario.check("unwanted answers", [answer(response) for response in connection.strays[count:]], rejected)
