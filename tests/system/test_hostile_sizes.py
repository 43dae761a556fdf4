"""Sizes, counts and lengths that a sender chooses: they are validated before they are used."""

from __future__ import annotations

import zlib
from contextlib import suppress
from struct import Struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import FakeChannel

from hostileframes import HostileFrames, sized
from nonempty import nonempty
from rocketproof_impl import bounds, registered, routeinfo
from rocketproof_impl.bounds import MAX_INFLATED, inflate
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.registered import decompressed
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SUCCESS

INT = Struct(">i")


@pytest.mark.parametrize("size", [0, 1, MAX_INFLATED - 1, MAX_INFLATED, MAX_INFLATED + 1, 4 * MAX_INFLATED])
def test_decompression_stops_at_its_bound(size: int) -> None:
    packed = zlib.compress(bytes(size), 1)
    if size <= MAX_INFLATED:
        assert len(inflate(packed)) == size
    else:
        with pytest.raises(ValueError, match="become more than"):
            inflate(packed)


@given(cut=st.integers(0, 60), at=st.integers(0, 60), byte=st.integers(0, 255))
def test_damaged_compressed_data_are_value_error(cut: int, at: int, byte: int) -> None:
    packed = bytearray(zlib.compress(b"some data that are compressed, some data that are compressed"))
    packed[at % len(packed)] = byte
    with suppress(ValueError):
        assert len(inflate(bytes(packed[:cut]))) < 100


def body(topics: int, count: int) -> bytes:
    """Build a registration of `topics` topics that declares `count`."""
    rows = b"".join(sized(f"t{number} 4 4 6 SINGLE_TAG".encode()) for number in range(topics))
    return zlib.compress(sized(b'{"counter":1,"timestamp":1}') + INT.pack(count) + rows + sized(b"[]"), 1)


@given(topics=st.integers(0, 5), count=st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-1, 6)))
def test_count_of_topics_is_checked_before_it_is_used(topics: int, count: int) -> None:
    try:
        found = decompressed(body(topics, count))
    except ValueError:
        assert max(count, 0) != topics
    else:
        assert max(count, 0) == topics  # as in a release, a negative count is none
        assert len(found["topicConfigSerializeWrapper"]["topicConfigTable"]) == topics


class Copied(bytes):
    """Bytes that count how many are copied."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(key, slice):
            Copied.copied += len(found)
            return Copied(found)
        return found


@given(topics=st.integers(0, 300))
def test_each_byte_of_registration_is_copied_once_at_most(topics: int) -> None:
    """A copy of the remaining bytes per topic would take the square of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registered, "inflate", lambda data: Copied(inflate(data)))
        patch.setattr(Copied, "copied", 0)
        packed = body(topics, topics)
        decompressed(packed)
        assert 0 < Copied.copied <= len(inflate(packed))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), profile=st.sampled_from(["P40", "P494", "P533"]))
@settings(max_examples=8)
def test_hostile_frames_leave_name_server_within_its_bounds(seed: int, profile: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (bounds, registered, routeinfo):
            patch.setattr(module, "MAX_TOPICS", 210, raising=False)
        patch.setattr(routeinfo, "MAX_BROKERS", 4)
        server, frames = NameServer(SimulatedClock(), profile=PROFILES[profile]), HostileFrames(seed, name_server=True)
        for number in nonempty(range(40)):
            receive(server, frames.draw().data)
            if number % 10 == 0:
                receive(server, frame.encode(registration(number % 7, 60)))
            assert sum(map(len, server.topic_queue_table.values())) <= 210
            assert max(len(server.broker_addr_table), len(server.broker_live_table)) <= 4
        channel = FakeChannel()
        server.receive(channel, plain("cluster"))
        assert channel.written[0].code == SUCCESS


def registration(number: int, topics: int) -> Command:
    table = {f"of{number}-{each}": (4, 4, 6) for each in range(topics)}
    return plain("register", name=f"name{number}", address=f"10.0.0.{number}:1", topics=table)


def receive(server: NameServer, data: bytes) -> None:
    try:
        command = frame.take(bytearray(data))
    except frame.FrameError:
        return
    if command is not None:
        server.receive(FakeChannel(), command)
