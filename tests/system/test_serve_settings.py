"""Every setting of `serve` with absurd values: refused in a sentence, or the broker starts and answers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Raw, send_command

from rocketproof_impl.broker.settingstext import FIELDS
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.node import BrokerNode
from rocketproof_properties.brokers.serve import ServeOptions, settings_of
from rocketproof_properties.reports.choices import InputError

VALUES = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from(
        ["", " ", "0", "1", "-1", "1_0", " 1", "+1", "\u0663", "1e3", "0x1", "true", "maybe", "[", "a\0b", "\ud800", "é", "::1"]
    ),
    st.sampled_from([str(2**31 - 1), str(2**31), str(-(2**31)), str(2**63 - 1), "x" * 300, "../..", "localhost", "1.2.3.4.5", "7", "18"]),
    st.text(max_size=5),
)
"""Numbers at and beyond Java's limits, texts that Python reads as numbers and Java does not, and texts that are no names or paths."""


@pytest.mark.slow
@given(name=st.sampled_from(sorted(FIELDS)), value=VALUES)
@settings(max_examples=40)
def test_setting_is_refused_or_broker_answers(name: str, value: str) -> None:
    with TemporaryDirectory() as folder, Background() as background:
        wanted, made, said = ServeOptions(Path(folder) / "s", port=0, settings=(f"{name}={value}",)), None, name
        try:
            (made,) = settings_of(wanted)
        except InputError as problem:
            said = str(problem)
        assert name in said
        assert "\n" not in said
        if made is None or name == "storePathRootDir":  # any other folder may be in use
            return
        node = BrokerNode(made)
        try:
            background.complete(node.start())
        except OSError:
            assert name == "listenPort"
            return
        try:
            with Raw(made.listen_port) as raw:
                assert "Error(" not in ((raw.ask(send_command()).remark) or "")
        finally:
            background.complete(node.stop())
