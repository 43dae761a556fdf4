"""A broker's tables of topics, groups and offsets: the bytes that clients can add are bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sending import Stand
from simulated import Simulated

from nonempty import nonempty
from rocketproof_impl import bounds
from rocketproof_impl.bounds import ENTRY
from rocketproof_impl.broker import offsets
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import Command
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SYSTEM_ERROR

TABLES: Final[Mapping[str, tuple[Callable[[Stand], Mapping[str, object]], Callable[[str], Command]]]] = {
    "topics": (lambda stand: stand.broker.topics.table, lambda name: plain("send", topic=name, body="b")),
    "groups": (lambda stand: stand.broker.groups.table, lambda name: plain("pull", topic="TBW102", group=name)),
    "offsets": (lambda stand: stand.broker.offsets.table, lambda name: plain("commit", topic="TBW102", group=name, offset=1)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("profile", ["P40", "P494"])
def test_full_table_answers_a_new_entry_with_an_error(table: str, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(profile)
    entries, ask = TABLES[table]
    stand.ask(ask("known"))
    more = 3 * 2 * (ENTRY + 20)
    monkeypatch.setattr(bounds, "MAX_TABLE", sum(ENTRY + len(name) for name in entries(stand)) + more)
    monkeypatch.setattr(stand.broker.offsets, "_budget", bounds.TableBudget(more))
    answers = [stand.ask(ask(f"flood-{number}")) for number in nonempty(range(8))]
    refused = [answer for answer in answers if answer.code == SYSTEM_ERROR and "Java heap space" in str(answer.remark)]
    added = [name for name in entries(stand) if "flood" in name]
    assert len(refused) == len(answers) - len(added) == (5 if table == "offsets" else 2)
    assert "Java heap space" not in str(stand.ask(ask("known")).remark)


Step = tuple[str, str, str, int]
STEPS = st.tuples(
    st.sampled_from(["commit", "commit", "remove", "remove_topic", "read", "take"]), *[st.sampled_from("abc")] * 2, st.integers(0, 3)
)


@given(steps=st.lists(STEPS, max_size=30), room=st.integers(0, 12))
def test_offsets_stay_within_their_bytes_after_removals_and_reads(steps: list[Step], room: int) -> None:
    of = Simulated()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offsets, "MAX_TABLE", room * ENTRY)
        made = ConsumerOffsetManager(of.settings, of.profile, of.disk)

    def size(table: Mapping[str, Sized]) -> int:
        return sum(len(name) + ENTRY * (1 + len(queues)) for name, queues in table.items())

    for what, group, topic, queue in steps:
        if what == "commit":
            then = {name: dict(queues) for name, queues in made.table.items()}
            then.setdefault(f"{topic}@{group}", {})[queue] = 1
            fits = size(then) <= max(room * ENTRY, size(made.table))
            with suppress(JavaError):
                made.commit(group, topic, queue, 1)
                assert fits
            assert (made.table == then) is fits
        elif what == "remove":
            made.remove(group)
        elif what == "remove_topic":
            made.remove_topic(topic)
        elif what == "take":
            made.take(f'{{"offsetTable":{{"{topic}@{group}":{{{queue}:1}}}}}}')
        else:
            made.persist()
            made.load()
