"""The folder of a topic: the topic's name where that is legal, and never a path outside the store."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketproof_protocol.folders import folder_of, topic_of

names = st.text(st.characters(exclude_categories=())) | st.text("./~\0aA-_Jg\ud800é", max_size=12)


@given(names.filter(lambda name: len(name) < 40))
@example("..")
@example("~")
@example("~YS9i")
def test_each_topic_has_a_folder_of_its_own(topic: str) -> None:
    folder = folder_of(topic)
    assert topic_of(folder) == topic
    assert folder not in ("", ".", "..") and "/" not in folder and "\0" not in folder
    folder.encode()


@given(names, names)
def test_no_two_topics_share_a_folder(one: str, other: str) -> None:
    assert (folder_of(one) == folder_of(other)) == (one == other)


@given(st.text("%|abcXYZ019_-", min_size=1, max_size=127))
def test_legal_name_is_its_own_folder(topic: str) -> None:
    assert folder_of(topic) == topic and topic_of(topic) == topic


@pytest.mark.parametrize("folder", ["~!", "~a", "~_w", "~b3JkZXJz", "~YS9i="])
def test_folder_without_a_topic_is_read_unchanged(folder: str) -> None:
    assert topic_of(folder) == folder
