"""The switches of releases that no model of the specification has as a constant, each with the reason.

Every other switch is a constant of a model: `modelled()` names them. A test keeps each switch in exactly one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import FAULTS, Part, Placed
from .admission import Admission

UNMODELLED: Final[Mapping[str, tuple[str, ...]]] = {
    "decides the class of a topic's or a group's name; the specification gets the class": (
        *("forbidden", "topic_limit", "retry_limit", "template"),
    ),
    "decides which topics a broker has at its start: an argument of `constructor`, or a topic without a rule": (
        *("all_system_topics", "schedule_topic", "more_system_topics", "timer_topic", "trace_topic"),
    ),
    "decides how many bytes a record has; the checker measures them, and the specification gets whether they fit": (
        *("stores_wait", "exact_properties", "ends_properties", "makes_unique_key", "names_transaction"),
        *("batch_properties", "separates_batch", "limits_batch_properties", "counts_bytes"),
    ),
    "decides how fields of a header are read; the checker does not judge requests for which that matters": (
        *("null_numbers", "null_pull_numbers", "wants_short", "wants_topic", "pull_reads_first", "clean_offsets"),
    ),
    "is the text of a remark or a field that carries no state": (
        *("faq", "name_server_faq", "names_illegal_topic", "min_offset_remark", "short_disk_remark", "size_remark"),
        *("tells_second_heartbeat", "tells_totals", "tells_recall_handle", "misspells_flag", "acting_master", "topic_attributes"),
    ),
    "is about pulls, heartbeats, recalls or unknown codes, which the specification of requests does not have": (
        *("resets_far_pulls", "stops_pulls_early", "slave_rejects_pulls", "tells_more", "tells_broker_forbids", "lite_pulls"),
        *("hears_unknown_groups", "recalls_by_topic", "default_processor", "leaves_unknown", "name_server_refuses"),
    ),
    "is about requests to a name server that the specification does not have, or about slaves and flags in routes": (
        *("null_topic", "registers_flag", "wants_mappings", "registers_topics", "gives_write_permission", "compares_versions"),
        *("moves_addresses", "leaves_by_address", "lives_in_cluster", "slaves_lose_write"),
        *("may_keep_order_topics", "drops_topics"),
    ),
    "decides which changes of a topic's attributes are accepted, which the checker does not judge": (
        *("attribute_names", "message_types", "refuses_mixed", "catches_malformed_attributes"),
    ),
    "decides which cluster a request to a name server is about; the specification has one cluster": ("forgets_by_cluster",),
    "depends on whether the broker has a timer wheel, which no history records; the response shows it": ("counts_timers", "names_no_wheel"),
    "decides what a record holds besides its place": ("keeps_store_host", "commit_keeps_place", "commit_keeps_mark"),
    "decides what statistics, files or queues of operation records hold": (
        *("queue_statistics", "keeps_operations", "keeps_system_queues", "wrong_length"),
    ),
    "decides what a start does if a queue lacks entries after a clean stop, which no step of the specification causes": (
        *("dispatches_after_stop", "keeps_first_entry"),
    ),
    "decides when, how often or whether a response comes, or how long a broker waits": (
        *("heeds_one_way", "notices_ends", "unregisters_later"),
        *("answers_when_changed", "repeats_batch_answer", "busy_first", "replica_wait"),
    ),
}
"""The reasons, each with its switches."""


def modelled() -> frozenset[str]:
    """Return the switches that some model has as a constant."""
    parts: tuple[type[Part], ...] = (Placed, Admission, *FAULTS.values())
    return frozenset(name for part in parts for name in part.switches)
