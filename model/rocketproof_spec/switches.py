"""The constants of the specification: a profile's switches, the initial values of broker and file, and the budgets of a run; and
values that depend on the switches alone.
"""

from __future__ import annotations

from typing import Final

from rocketproof_model.language import Bool, Expr, Int, Model, const, ite
from rocketproof_protocol.codes import INVALID_PARAMETER, SYSTEM_ERROR

from .arithmetic import READ, WRITE
from .scope import Scope

PERMISSION: Final = Int(0, 15)
"""A topic's permission: the bits read (4), write (2), inherit (1), and one unknown bit."""


RELEASES: Final = (
    ("check_names", Bool, True, "the broker checks topics' names"),
    ("reserves_template", Bool, False, "the template's name is refused"),
    ("signed_random", Bool, False, "the number that is drawn for a negative queue id may be negative"),
    ("keeps_sign", Bool, False, "the queue that is drawn for a negative queue id may be negative"),
    ("masks_permission", Bool, False, "a limited broker registers the bits that its own permission and the topic's share"),
    ("masks_alone", Bool, False, "a limited broker does so also for a topic that it registers alone"),
    ("skips_equal_topic", Bool, False, "an update without a change is skipped"),
    ("takes_unknown_topics", Bool, False, "a registration of the same version adds topics that the name server does not have"),
    ("registers_updated_alone", Bool, False, "a topic that an administrator has changed is registered without the others"),
    ("registers_created_alone", Bool, False, "a topic that a message has created is registered without the others"),
    ("takes_topics", Bool, False, "the name server accepts topics from any client that names a known broker"),
    ("guards_topics", Bool, True, "an administrator can change no system topic, and no topic with an illegal name"),
    ("deletes_any_name", Bool, False, "a topic with an illegal name can be deleted as well"),
    ("illegal_code", Int(SYSTEM_ERROR, INVALID_PARAMETER), SYSTEM_ERROR, "the response code for an illegal name or queue id"),
)
"""The switches of releases: name, type, default and meaning."""


def switches(m: Model, scope: Scope) -> dict[str, Expr]:
    """Declare the constants, and return them by name."""
    counts, most, sends = scope.counts, scope.counts.hi, Int(0, max(scope.sends, 1))
    constants = (
        ("auto_create", Bool, True, "autoCreateTopicEnable: a send may create its topic"),
        ("broker_readable", Bool, True, "brokerPermission has READ"),
        ("broker_writable", Bool, True, "brokerPermission has WRITE"),
        ("template_in_file", Bool, False, "the topic table's file has TBW102 from an earlier run"),
        ("template_read", counts, most, "readQueueNums of TBW102 at the start"),
        ("template_write", counts, most, "writeQueueNums of TBW102 at the start"),
        ("template_perm", PERMISSION, 7, "permission of TBW102 at the start"),
        ("cluster_perm", PERMISSION, 7, "permission of the topic that is named after the cluster"),
        ("client_queues", scope.numbers, scope.numbers.hi, "defaultTopicQueueNums of producers"),
        ("order_topic", Bool, False, "the topic that exists at the start is an order topic"),
        *RELEASES,
        *(() if scope.symmetric else (("round_robin", Bool, False, "producers use their queues in turn"),)),
        ("retries", Int(0, 2), 0, "how often a producer tries a failed send again"),
        ("sends", sends, scope.sends, "how many messages each producer sends; 0 is no limit"),
        ("burst", sends, 0, "how many messages a producer sends before its first route refresh; 0 is any number"),
        ("crash_budget", Int(0, 1), int(scope.crashes), "how many crashes the run may have"),
        ("loss_budget", Int(0, 1), 0, "how many registrations may be lost"),
        ("update_budget", Int(-1, 1), 0, "how many updates of topics an administrator makes; -1 is no limit"),
        ("file_size", Int(0, scope.file_size), scope.file_size, "size of a file of the commit log, in the scope's units"),
        ("blank", Int(0, scope.file_size), scope.blank, "size of the smallest blank at a file's end, in the scope's units"),
        ("size_limit", scope.sizes, scope.sizes.hi, "size of the largest message, in the scope's units"),
        ("existing", Bool, False, "the topic exists at the start"),
        ("existing_read", counts, most, "readQueueNums of the topic that exists at the start"),
        ("existing_write", counts, most, "writeQueueNums of the topic that exists at the start"),
        ("existing_perm", PERMISSION, 6, "permission of the topic that exists at the start"),
    )
    return {"round_robin": const(0, Bool), **{row[0]: m.constant(*row) for row in constants}}


CHANGEABLE: Final = {
    "auto_create": "whether a send may create its topic, by the broker's current settings",
    "broker_readable": "whether the broker's current permission has READ",
    "broker_writable": "whether the broker's current permission has WRITE",
}
"""The broker settings among the constants that can change while the broker runs."""


def make_changeable(m: Model, constant: dict[str, Expr]) -> None:
    """Replace each constant that can change during a run by a variable with the same initial value."""
    constant |= {name: m.var(f"{name}_now", Bool, init=constant[name], sentence=sentence) for name, sentence in CHANGEABLE.items()}


def broker_permission(constant: dict[str, Expr]) -> Expr:
    """Return brokerPermission from its two switches."""
    return ite(constant["broker_readable"], READ, 0) + ite(constant["broker_writable"], WRITE, 0)


def limited(constant: dict[str, Expr]) -> Expr:
    """Whether the broker's own permission lacks READ or WRITE (NS-11)."""
    return ~(constant["broker_readable"] & constant["broker_writable"])


def published_perm(constant: dict[str, Expr], perm: Expr, alone: Expr | bool = False) -> Expr:
    """NS-11: return the permission that a registration carries for a topic with `perm`, registered with all topics or `alone`.

    It is `perm` itself, the limited broker's own permission, or the bits that both share.
    """
    own = broker_permission(constant)
    masks = ite(alone, constant["masks_alone"], constant["masks_permission"])
    return ite(limited(constant), ite(masks, perm & own, own), perm)
