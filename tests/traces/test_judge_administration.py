"""Administrative requests in recordings of single requests: changed settings, topics registered at a name server, groups without a name,
slaves.

Also group offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from written_cases import BROKER, Recorded, mutated, not_setting, unguarded

from rocketproof_model.language import Action
from rocketproof_traces.history.covered import UNREADABLE

ON_SLAVE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
BACK = {"offset": "0", "group": "g", "delayLevel": "0"}


@pytest.mark.behaviour("TCM-13", "TCM-14")
def test_auto_creation_is_switched_while_broker_runs() -> None:
    assert Recorded().configure("autoCreateTopicEnable=false").send(17).verdict() == "ok"
    assert Recorded().configure("autoCreateTopicEnable=false").send(0, 0).verdict() == "illegal"
    assert Recorded().send(17).verdict() == "illegal"
    back = Recorded().configure("autoCreateTopicEnable=false").configure("autoCreateTopicEnable=true")
    assert back.send(0, 0).verdict() == "ok"
    assert Recorded().configure("autoCreateTopicEnable=false").send(17).configure("autoCreateTopicEnable=true").send(0, 0).verdict() == (
        "illegal"  # TBW102 has lost INHERIT, and nothing gives it back
    )


@pytest.mark.behaviour("NS-11")
def test_limited_broker_registers_its_topics_again() -> None:
    limited = Recorded().update().route((4, 4, 6)).configure("brokerPermission=4")
    assert limited.route((4, 4, 4)).verdict("P494") == "ok"
    again = Recorded().update().route((4, 4, 6)).configure("brokerPermission=4").route((4, 4, 4)).configure("brokerPermission=6")
    assert again.route((4, 4, 6)).verdict("P494") == "ok"
    assert Recorded().update().route((4, 4, 6)).route((4, 4, 4)).verdict("P494") == "illegal"


def test_setting_unknown_to_specification_is_out_of_scope() -> None:
    verdict = Recorded().configure("flushDiskType=SYNC_FLUSH").send(0, 0).judged()
    assert (verdict.verdict, verdict.out_of_reach) == ("ok", {"changes of settings: flushDiskType": 1})
    assert Recorded().configure("brokerPermission=6", code=1).verdict() == "illegal"


@pytest.mark.behaviour("TCM-34", "NS-04")
def test_name_server_accepts_topic_from_anyone() -> None:
    mine, other = (BROKER, (2, 2, 4)), ("nobody", (4, 4, 6))
    assert Recorded().register(mine).route((2, 2, 4)).verdict() == "ok"
    assert Recorded().register(mine).route(None).verdict() == "illegal"
    assert Recorded().register(mine, topic=None).route(None).verdict() == "ok"
    assert Recorded().register(other).route(None).verdict() == "ok"
    for entries in ((mine, other), (other, mine)):
        assert Recorded().register(*entries).route(None).verdict() == "ok"
        assert Recorded().register(*entries).route((2, 2, 4)).verdict() == "illegal"
    known = Recorded().update().route((4, 4, 6))
    assert known.register(mine, other).route((2, 2, 4)).verdict() == "ok"
    assert Recorded().update().route((4, 4, 6)).register(other, mine).route((4, 4, 6)).verdict() == "ok"
    assert Recorded().update().route((4, 4, 6)).register(other, mine).route((2, 2, 4)).verdict() == "illegal"


@pytest.mark.behaviour("TCM-34")
def test_older_name_server_refuses_topic() -> None:
    mine = (BROKER, (2, 2, 4))
    assert Recorded().register(mine, code=None).route(None).judged("P494").verdict == "ok"
    assert Recorded().register(mine, code=None).route((2, 2, 4)).judged("P494").verdict == "illegal"
    assert Recorded().register(mine).verdict("P494") == "illegal"
    assert Recorded().register(mine, code=3).verdict() == "illegal"


@pytest.mark.behaviour("HAZ-36", "NS-04")
def test_deleted_topic_stays_in_route_until_name_server_expires_it() -> None:
    def deleted() -> Recorded:
        made = Recorded().update().route((4, 4, 6))
        return made.ask("delete_topic", 215, {"topic": "T"}, {"code": 0})

    assert deleted().route((4, 4, 6)).verdict("P494") == "ok"
    assert deleted().route(None).verdict("P494") == "illegal"
    assert deleted().forget().route(None).verdict("P494") == "ok"
    assert deleted().forget(clusterName="another").route((4, 4, 6)).verdict("P494") == "ok"


@pytest.mark.behaviour("TCM-31", "REC-04")
def test_queue_end_after_deletion_is_at_most_its_records() -> None:
    def ends(offset: int, deleted: str = "T") -> Recorded:
        made = Recorded().update().send(0, 0).send(0, 1).ask("delete_topic", 215, {"topic": deleted}, {"code": 0})
        return made.ask("max_offset", 30, {"topic": "T", "queueId": "0"}, {"code": 0, "fields": {"offset": str(offset)}})

    assert [ends(offset).verdict() for offset in (0, 2, 3)] == ["ok", "ok", "illegal"]
    assert [ends(offset, "U").verdict() for offset in (2, 3)] == ["ok", "illegal"]
    (finding,) = ends(3).judged().findings
    assert finding.refused.specified == "has 2 records in queue 0"
    assert ends(0, "U").progress(None, queueId="7").verdict() == "ok"


@pytest.mark.behaviour("TCM-31")
def test_later_releases_delete_offsets_with_topic() -> None:
    def told(topic: str) -> Recorded:
        made = Recorded().update().update("U").group().commit(5).commit(6, topic="U").commit(7, queueId="1")
        return made.ask("delete_topic", 215, {"topic": topic}, {"code": 0}).update(topic)

    for profile, left in (("P494", "ok"), ("P533", "illegal")):
        assert told("T").progress(5).verdict(profile) == left
        assert told("T").progress(7, queueId="1").verdict(profile) == left
        assert told("T").progress(6, topic="U").verdict(profile) == "ok"
        assert told("U").progress(5).verdict(profile) == "ok"
    assert told("T").progress(None).verdict("P533") == "ok"
    assert told("T").progress(None).verdict("P494") == "illegal"


@pytest.mark.behaviour("DLQ-02")
def test_group_that_is_deleted_has_name() -> None:
    assert Recorded().ask("delete_group", 207, {}, {"code": 1}).verdict() == "ok"
    assert Recorded().ask("delete_group", 207, {}, {"code": 0}).verdict() == "illegal"


@pytest.mark.behaviour("TCM-30", "TCM-31")
def test_slave_refuses_topic_changes_with_its_remark() -> None:
    refused = {"code": 1, "remark": ON_SLAVE}

    def asked(answer: dict[str, Any]) -> Recorded:
        return Recorded().update(code=1, remark=ON_SLAVE).ask("delete_topic", 215, {"topic": "T"}, answer)

    assert asked(refused).verdict("P494") == "ok"
    assert asked({"code": 0}).verdict("P494") == "illegal"
    assert Recorded().update(code=1).verdict("P494") == "illegal"


def test_group_continues_at_last_commit() -> None:
    assert Recorded().commit(5).commit(3).progress(3).verdict("P494") == "ok"
    assert Recorded().commit(5).commit(3).progress(5).verdict("P494") == "illegal"
    assert Recorded().commit(5).progress(5, queueId="1").verdict("P494") == "illegal"
    assert Recorded().commit(5).progress(0, consumerGroup="h").verdict("P494") == "ok"
    assert Recorded().commit(-7).progress(0).verdict("P494") == "ok"
    assert Recorded().commit(5, topic=None).progress(5, topic="null").verdict("P494") == "ok"


def test_group_without_commit_begins_where_release_defines() -> None:
    assert Recorded().progress(0).verdict("P494") == "ok"
    assert Recorded().progress(None).verdict("P494") == "illegal"
    assert Recorded().progress(0).verdict("P533") == "illegal"
    assert Recorded().send(0, 0).progress(0).verdict("P533") == "ok"
    assert Recorded().send(0, 0).progress(None, setZeroIfNotFound="false").verdict("P533") == "ok"
    assert Recorded().send(0, 0).progress(0, setZeroIfNotFound="false").verdict("P533") == "illegal"
    for profile, none, zero in (("P500", "ok", "illegal"), ("P494", "illegal", "ok")):
        assert Recorded().send(0, 0).progress(None, setZeroIfNotFound="false").verdict(profile) == none
        assert Recorded().send(0, 0).progress(0, setZeroIfNotFound="false").verdict(profile) == zero
    assert Recorded().send(0, 0).progress(0, queueId="7").verdict("P533") == "illegal"


def test_later_releases_accept_offsets_of_known_topics_and_groups() -> None:
    assert Recorded().update().group().commit(5).progress(5).verdict() == "ok"
    assert Recorded().update().commit(5, 26).verdict() == "ok"
    assert Recorded().update().commit(5).verdict() == "illegal"
    assert Recorded().update().commit(5, 0, consumerGroup="TOOLS_CONSUMER").verdict() == "ok"
    assert Recorded().commit(5, 26).group().commit(5, 17).verdict() == "ok"
    assert Recorded().group().commit(5).verdict() == "illegal"
    assert Recorded().update().group().commit(None, 29).commit(5, 29, queueId=None).commit(5, 1, topic=None).verdict() == "ok"
    for profile, code in (("P533", 29), ("P520", 1), ("P510", 1)):
        whole = Recorded().update().group()
        assert whole.commit(None, code).commit(5, code, queueId=None).verdict(profile) == "ok"
        assert Recorded().update().group().commit(None, 30 - code).verdict(profile) == "illegal"
    assert Recorded().commit(None, 1).commit(5, 1, queueId=None).verdict("P494") == "ok"
    assert Recorded().commit(None, 29).verdict("P494") == "illegal"


def test_query_creates_group_whose_offsets_count() -> None:
    def made() -> Recorded:
        return Recorded().update().ask("send_back", 36, BACK, {"code": 1})

    assert made().commit(5).verdict() == "ok"
    assert made().commit(5, 26).verdict() == "illegal"


def test_deleted_group_keeps_offsets_unless_removal_is_requested() -> None:
    def told(**fields: str) -> Recorded:
        return Recorded().update().group().commit(5).commit(6, queueId="1").ungroup(**fields)

    for profile, field, other in (("P494", "removeOffset", "cleanOffset"), ("P533", "cleanOffset", "removeOffset")):
        assert told().progress(5).verdict(profile) == "ok"
        assert told(**{other: "true"}).progress(5).verdict(profile) == "ok"
        assert told(**{field: "false"}).progress(5).verdict(profile) == "ok"
        assert told(**{field: "true"}).progress(5).verdict(profile) == "illegal"
        assert told(**{field: "true"}).progress(6, queueId="1").verdict(profile) == "illegal"
    assert told().commit(7, 26).verdict() == "ok"
    assert told(removeOffset="true").progress(0).verdict("P494") == "ok"


def test_deleted_group_with_kept_offsets_can_be_queried() -> None:
    def ungrouped(**fields: str) -> Recorded:
        return Recorded().update().group().ungroup(**fields)

    assert ungrouped().commit(7).verdict("P550") == "ok"
    assert ungrouped().commit(7).verdict("P540") == "illegal"
    assert ungrouped(cleanOffset="true").commit(7, 26).verdict("P550") == "ok"
    assert ungrouped(cleanOffset="true").commit(7).verdict("P550") == "illegal"


@pytest.mark.parametrize("name", ["", "a b", "x" * 121])
def test_only_older_releases_create_group_with_illegal_name(name: str) -> None:
    for profile, code in (("P533", 0), ("P540", 29)):
        assert Recorded().group(name, code).verdict(profile) == "ok"
        assert Recorded().group(name, 29 - code).verdict(profile) == "illegal"


def test_offsets_that_others_may_have_committed_are_out_of_scope() -> None:
    verdict = Recorded().update().ask("other", 11, {}, {"code": 0}).commit(5).progress(0).judged()
    assert (verdict.verdict, verdict.out_of_reach) == ("ok", {"request code 11": 1, "offsets of groups of which others may have told": 2})
    assert Recorded().progress(0, topic=None).judged().out_of_reach == {UNREADABLE: 1}
    assert Recorded().commit("x").judged().out_of_reach == {UNREADABLE: 1}


def test_query_contradicting_offset_is_named() -> None:
    (finding,) = Recorded().commit(5).progress(6).judged("P494").findings
    assert (finding.recorded, finding.refused.specified) == ("code 0, offset 6", "answers offset 5")
    (finding,) = Recorded().update().commit(5).judged().findings
    assert (finding.refused.action, finding.refused.guard) == ("commit_offset", "group listed")
    (finding,) = Recorded().commit(5, 26).judged("P494").findings
    assert finding.refused.specified == "takes the offset"


MINE, OTHER = (BROKER, (2, 2, 4)), ("nobody", (4, 4, 6))
GONE: dict[str, Any] = {"topic": "T"}


def there() -> Recorded:
    return Recorded().update().route((4, 4, 6))


def gone() -> Recorded:
    return there().send(0, 0).ask("delete_topic", 215, GONE, {"code": 0})


MUTANTS: list[tuple[str, Callable[[Action], Action], Recorded]] = [
    ("register_topic", unguarded("no stranger before"), there().register(OTHER, MINE).route((2, 2, 4))),
    ("register_topic", unguarded("a route, or no stranger"), Recorded().register(MINE, OTHER).route((2, 2, 4))),
    ("register_topic", not_setting("route."), Recorded().register(MINE).route(None)),
    ("forget_topic", not_setting("route."), there().ask("delete_topic", 215, GONE, {"code": 0}).forget().route((4, 4, 6))),
    ("switch_creation", not_setting("auto_create"), Recorded().configure("autoCreateTopicEnable=false").send(0, 0)),
    ("delete_topic", not_setting("offset"), gone().send(0, 0)),
    ("delete_topic", not_setting("outlived"), gone().send(0, 1)),
    ("commit_offset", not_setting("told"), there().group().commit(5).progress(5)),
    ("commit_offset", unguarded("topic named"), there().group().commit(5, 1, topic=None)),
    ("commit_offset", unguarded("group listed"), there().commit(5, 26)),
    ("commit_offset", unguarded("topic known"), Recorded().group().commit(5, 17)),
    ("commit_offset", unguarded("fields named"), there().group().commit(None, 29)),
    ("forget_offset", not_setting("told"), there().group().commit(5).ungroup(cleanOffset="true").progress(5)),
    ("update_group", not_setting("group.listed"), there().group().commit(5)),
    ("", not_setting("group.listed"), there().ask("send_back", 36, BACK, {"code": 1}).commit(5)),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_mutant_of_action_changes_verdict(number: int) -> None:
    name, changed, recorded = MUTANTS[number]
    profile = "P494" if name == "permit" else "P533"
    found = recorded.judged(profile).verdict
    assert {found, recorded.judged(profile, mutated(name, changed)).verdict} == {"ok", "illegal"}
