"""Made-up stores: what the implementation's own store would have written, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message, parse_properties, properties_text
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.store.service import MessageStore
from rocketproof_lab.bench.fabricate import StorePlan, fabricate, forms
from rocketproof_profiles import PROFILES
from rocketproof_traces.stored.config import read_topics
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.queues import ENTRY, EntryLookup, Queues
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

SMALL = StorePlan(
    300_000, seed=3, topics=5, queues=3, bodies=(0, 700), delayed=100, transactions=100, file_size=1 << 16, queue_file_size=2000
)


def messages(folder: Path) -> list[Message]:
    """Return the stored messages as a sender would send them again: delayed messages in their original form."""
    found = []
    for range_ in ranges(log_files([str(folder)])):
        for chunk in Walk(range_, NameTable()):
            texts = [chunk.text(name).to_pylist() for name in ("topic", "properties")]
            for n in np.flatnonzero(chunk.is_message):
                topic, text = texts[0][n], texts[1][n]
                message = Message(
                    topic, int(chunk["queueId"][n]), chunk.bodies()[n].as_py(), properties=parse_properties(text, exact=False),
                    properties_text=text, sys_flag=int(chunk["sysFlag"][n]), born_timestamp=int(chunk["bornTimestamp"][n]),
                    born_host=("10.0.0.2", 40000), store_host=("10.0.0.1", 10911), store_timestamp=int(chunk["storeTimestamp"][n]),
                    prepared_transaction_offset=int(chunk["preparedTransactionOffset"][n]),
                )  # fmt: skip
                if topic == "SCHEDULE_TOPIC_XXXX":
                    message.topic = message.properties.pop("REAL_TOPIC")
                    message.queue_id = int(message.properties.pop("REAL_QID"))
                    message.properties_text = properties_text(message.properties, trailing=False)
                found.append(message)
    return found


def test_implementation_would_have_written_same(tmp_path: Path) -> None:
    made = fabricate(tmp_path, SMALL)
    sent = messages(tmp_path)
    assert len(sent) == made.records > 300
    disk, scheduler = SimulatedDisk(), Scheduler()
    settings = BrokerSettings(mapped_file_size_commit_log=SMALL.file_size, mapped_file_size_consume_queue=SMALL.queue_file_size)
    store = MessageStore(settings, PROFILES["P49"], scheduler.clock, disk)
    for message in sent:
        scheduler.clock.time = message.store_timestamp
        scheduler.complete(store.put_message(message))
    store.dispatch()
    for kind in ("commitlog", "consumequeue"):
        written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in (tmp_path / kind).rglob("*") if path.is_file()}
        simulated = {
            name.partition("/")[2]: bytes(content).ljust(disk.sizes[name], b"\0")
            for name, content in disk.files.items()
            if name.startswith(f"store/{kind}/")
        }
        assert {name: data for name, data in simulated.items() if any(data)} == written


def test_fabricated_store_is_sound_and_has_all_record_forms(tmp_path: Path) -> None:
    made = fabricate(tmp_path, SMALL)
    queues, names = Queues([str(tmp_path)]), NameTable()
    lookup, records, seen, odd = EntryLookup(queues, names), 0, set(), 0
    end = 0
    for range_ in ranges(log_files([str(tmp_path)]), 10_000):
        walk = Walk(range_, names)
        for chunk in walk:
            found = lookup.find(chunk["topic"], chunk["queueId"], chunk["queueOffset"])
            good = (found.found == ENTRY) & (found.physicalOffset == chunk["physicalOffset"]) & (chunk["bodyCRC"] == chunk["computedCRC"])
            odd += int((chunk.is_message & ~good).sum())
            records += int(chunk.is_message.sum())
            seen |= set(chunk["properties"][chunk.is_message].tolist())
        end = walk.data_end or end
    assert (records, odd, end) == (made.records, 0, made.log_end)
    assert {(queue.topic, queue.queue_id): queue.max for queue in queues.all()} == made.queues
    assert len(seen) == len({frozenset(form.properties) - {"CLUSTER"} for form in forms(SMALL)[0]})
    assert set(names.texts()) <= set(read_topics(f"{tmp_path}/config/topics.json").topics)


@pytest.mark.parametrize("bodies", [(10, 10), (5000, 9000)])
def test_seed_and_plan_decide_everything(tmp_path: Path, bodies: tuple[int, int]) -> None:
    plans = [StorePlan(200_000, seed=seed, bodies=bodies, file_size=1 << 20) for seed in (1, 1, 2)]
    logs = []
    for number, plan in enumerate(plans):
        fabricate(tmp_path / str(number), plan)
        logs.append((tmp_path / str(number) / "commitlog" / f"{0:020d}").read_bytes())
    assert logs[0] == logs[1] != logs[2]
