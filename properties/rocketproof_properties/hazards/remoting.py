"""Hazards of requests and answers on the wire: answers that never come, and answers that nobody waits for."""

from __future__ import annotations

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.simulator.scheduler import SimulatedThread

from ..programs.vocabulary import plain
from .cluster import answer
from .gallery import hazard
from .pauses import at, stopped
from .story import HazardScenario


def outcome(call: SimulatedThread[Command]) -> str:
    """The answer, or that there was none when the caller's time was over."""
    try:
        return answer(call.result())
    except TimedOut:
        return "none"


@hazard("HAZ-24", asserts="REM-09 SEND-44", properties="INV-01", profiles="P49 P494")
def no_answer_at_all(story: HazardScenario) -> None:
    """An exception at the wrong place leaves the client without an answer.

    What a broker throws before the put is answered. In P49 everything behind the put is in a future, and nobody catches what
    is thrown there (REM-09). One such place is the size of a missing body, which is taken when a put fails and a hook is
    registered (SEND-44). A producer waits for its whole time.

    To avoid it: no send hooks on brokers that serve foreign clients.
    """
    for profile in (story.profile, "P45"):
        cluster = story.cluster(profile=profile)
        cluster.act("hooks")
        story.say(f"A message without a body, whose properties are too long, comes to a broker with a hook, in {profile}.")
        call = cluster.calling(cluster.request(body=None, properties={"KEYS": "k" * 40_000}), millis=3000)
        cluster.scheduler.advance(2999)
        story.check("the caller still waits after 2999 ms", not call.done.done, profile != "P45")
        cluster.scheduler.advance(1)
        expected = "SYSTEM_ERROR: java.lang.NullPointerException" if profile == "P45" else "none"
        story.check("the answer after 3000 ms", outcome(call), expected)


@hazard("HAZ-25", asserts="SEND-07", properties="INV-01", profiles="P49 P494")
def full_executor_loses_answers(story: HazardScenario) -> None:
    """A busy broker loses the answers of failures, and of nothing else.

    In P49 the answer of a finished send is written by another task of the same executor (SEND-07). If its queue is full, that
    task is rejected and the answer is lost. A success has been written before that (SEND-42).

    To avoid it: a send queue that never fills; producers notice it as timeouts.
    """
    for profile in (story.profile, "P45"):
        cluster = story.cluster(profile=profile)
        cluster.update_topic("T", 4, 4)
        threads = cluster.node().executors["send"]
        threads.threads, threads.capacity = 1, 1
        cluster.scheduler.stops = at("arrived")
        story.say(f"One send thread with one place in its queue, in {profile}. A message to a queue that does not exist is being served.")
        illegal = cluster.calling(cluster.request(queue=9), millis=3000)
        story.say("A good message takes the place in the queue. Then the first one is refused.")
        good = cluster.calling(cluster.request(), millis=3000)
        cluster.scheduler.resume(stopped(cluster))
        cluster.scheduler.advance(3000)
        expected = "none" if profile != "P45" else "SYSTEM_ERROR: request queueId[9] is illegal"
        story.check("the answer to the illegal one", outcome(illegal).split(", ")[0], expected)
        story.check("the answer to the good one", outcome(good), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-26", asserts="REM-05 REM-06 REM-10 REM-12", properties="INV-03")
def one_way_requests_get_answers(story: HazardScenario) -> None:
    """A caller that wants no answer gets one.

    A request with an unknown code is answered, whether the caller waits or not (REM-05). The caller has no entry for it
    (REM-12) and writes a line into its log. 4.9.4 and 5.3.3 have a processor for such codes, and stay silent. The refusals of a
    busy broker forget the flag in the same way, on arrival (REM-06) and in the queue (REM-10), and so does the answer to a pull that
    was held (4.9.4). 5.3.3 looks at the flag on arrival and behind a hold; its queue still forgets it.

    To avoid it: nothing; such lines in a client's log are harmless.
    """
    cluster = story.cluster()
    connection = cluster.deployment.connect("broker-a")
    story.say("A caller sends a request one way, with a code that the broker does not know.")
    connection.send_one_way(plain("unknown"))
    found = [answer(each) for each in connection.strays]
    expected = [] if cluster.profile.default_processor else ["REQUEST_CODE_NOT_SUPPORTED:  request type 9999 not supported"]
    story.check("answers that nobody waits for", found, expected)
    story.say("A message is sent one way.")
    connection.send_one_way(cluster.request())
    story.check("answers that nobody waits for", len(connection.strays), len(expected))
    story.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    story.say("A pull that wants no answer is held, and the next message comes.")
    cluster.dispatch()
    connection.send_one_way(plain("pull", topic="T", offset=1, hold=5000))
    cluster.send(queue=0)
    cluster.dispatch()
    cluster.scheduler.settle()
    expected += [] if cluster.profile.heeds_one_way else ["SUCCESS"]
    story.check("answers that nobody waits for", [answer(each) for each in connection.strays], expected)
    story.say("A message is being served by the only send thread, and another one is sent one way. It waits in the queue for 200 ms.")
    cluster.node().executors["send"].threads = 1
    cluster.scheduler.stops = at("arrived")
    cluster.calling(cluster.request())
    connection.send_one_way(cluster.request())
    cluster.scheduler.advance(200)
    cluster.broker().fail_fast()
    refused = "SYSTEM_BUSY: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 200ms, size of queue: 0"
    story.check("the answer that nobody waits for", answer(connection.strays[-1]), refused)
    story.say("A put has held the lock of the log for two seconds, and a message is sent one way.")
    cluster.act("store", state="busy")
    heard = len(connection.strays)
    connection.send_one_way(cluster.request())
    rejected = [] if cluster.profile.heeds_one_way else ["SYSTEM_BUSY: [REJECTREQUEST]system busy, start flow control for a while"]
    story.check("answers that nobody waits for", [answer(each) for each in connection.strays[heard:]], rejected)
