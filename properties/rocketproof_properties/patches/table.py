"""The mutants of the implementation that have to be noticed, and by which rules, properties or hazards.

Numbers that are missing are mutants which no run of this implementation could tell apart. A letter in a sentence names a
variant; a mutant counts as found when all its variants are.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A mutant: what it does wrong, the ids one of which a test has to carry to find it, the letters of its variants.

    `equivalent` is the reason why no run of a whole broker shows it, empty if one does.
    """

    id: str
    sentence: str
    killers: tuple[str, ...]
    variants: str = ""
    equivalent: str = ""


def _row(id_: str, killers: str, sentence: str, variants: str = "", equivalent: str = "") -> Row:
    return Row(id_, sentence, tuple(killers.split()), variants, equivalent)


ROWS: tuple[Row, ...] = (
    _row("M-01", "INV-30 CHK-10", "the queue id may be equal to the larger queue count"),
    _row("M-02", "CHK-10", "the queue id is compared with the write count only"),
    _row("M-03", "CHK-10", "the queue id is compared with the smaller of the counts"),
    _row("M-04", "SEND-22", "a negative queue id is refused"),
    _row("M-05", "INV-33", "the random queue is drawn below the read count (a) or the larger count (b)", "ab"),
    _row("M-06", "INV-33", "the random queue is the absolute draw modulo the write count, so the smallest int gives a negative id"),
    _row("M-07", "SEND-22", "the remainder of a negative draw takes Python's sign instead of Java's"),
    _row("M-08", "CHK-01", "no write permission, or an order topic: either is enough to refuse"),
    _row("M-09", "CHK-01", "a broker without write permission refuses every topic"),
    _row("M-10", "CHK-01", "the broker's permission is looked at after the topic's name"),
    _row("M-11", "SEND-12", "the very first millisecond of service is still refused"),
    _row("M-12", "INV-08", "the time from which sends are served is looked at after the topic was checked, and perhaps created"),
    _row("M-13", "SEND-11", "an error answer lacks the region and the trace switch"),
    _row("M-14", "CHK-02", "a topic name may have 128 characters (a) or only 126 (b)", "ab"),
    _row("M-15", "CHK-02 CLI-11", "a topic name is legal if a part of it is (a) or with a line feed at its end (b)", "ab"),
    _row("M-16", "CHK-02", "letters of any alphabet are legal in a topic name"),
    _row("M-17", "CHK-03", "a send to the template topic is refused where only the schedule topic should be"),
    _row("M-18", "CHK-03", "a send to the schedule topic is refused as a system error"),
    _row("M-19", "CHK-06", "the flags for a unit's topic and a unit's retry topic are exchanged"),
    _row("M-20", "CHK-07 HAZ-41", "a retry topic is made without template before the template is tried"),
    _row("M-21", "CHK-08 INV-15", "every topic is made without template when the template gives nothing"),
    _row("M-22", "CHK-08", "a retry topic made by a send has the group's number of queues instead of one"),
    _row("M-23", "CHK-09", "a topic that could not be made is answered as a system error"),
    _row("M-24", "INV-10", "a created topic keeps INHERIT"),
    _row(
        "M-25",
        "PERM-01",
        "INHERIT is subtracted from the permission instead of cleared",
        equivalent="a broker asks for it only where INHERIT is set, and there both give the same",
    ),
    _row("M-26", "INV-11", "every created topic has permission 6"),
    _row("M-27", "INV-12", "a created topic has the larger of the asked and the template's number of queues"),
    _row("M-28", "INV-12", "the asked number of queues is cut at the template's read count"),
    _row("M-29", "INV-12", "a negative number of queues becomes one"),
    _row("M-30", "TCM-15", "a created topic takes the order flag of its template"),
    _row("M-31", "TCM-15 DLQ-05", "a created topic does not take the filter type of its template"),
    _row("M-32", "CHK-06", "a created topic has no system flag"),
    _row("M-33", "HAZ-02 INV-16", "with auto-creation off a copy of the template loses INHERIT, not the template itself"),
    _row("M-34", "INV-18 HAZ-02", "taking INHERIT from the template counts the version up"),
    _row("M-35", "HAZ-04 INV-14", "with auto-creation off no template at all creates topics"),
    _row("M-36", "INV-15", "the auto-creation switch works the wrong way round"),
    _row("M-37", "INV-19", "the topic is not looked up again under the lock"),
    _row("M-38", "INV-23", "the lock is kept when the topic is found under it"),
    _row("M-39", "INV-25 HAZ-08", "the lock is waited for without a limit"),
    _row("M-40", "CHK-09", "a lock that is not got in time is an exception"),
    _row("M-41", "INV-21 INV-26", "a created topic is not persisted"),
    _row(
        "M-42", "TCM-16 PER-01", "a created topic is persisted before it is in the table (a) or before the version is counted up (b)", "ab"
    ),
    _row("M-43", "TCM-16 PER-01", "a created topic is persisted after the lock is free"),
    _row("M-44", "INV-21", "a created topic is registered before it is persisted"),
    _row("M-45", "INV-24", "a created topic is registered while the lock is held"),
    _row("M-46", "INV-19", "a topic that another thread has created meanwhile is registered once more"),
    _row("M-47", "NS-10 INV-25", "the registration of a created topic waits for the name server's answer"),
    _row("M-48", "INV-17 LIV-01", "a created topic does not count the version up"),
    _row("M-49", "INV-17", "a created topic counts the version up twice"),
    _row("M-50", "TCM-22", "a topic of send-back is only created where the template allows it"),
    _row("M-51", "TCM-20 INV-16", "a topic of send-back is created anew though it exists"),
    _row("M-52", "INV-26 PER-05", "the table is written straight into its file"),
    _row("M-53", "PER-05", "the written table is renamed before the old one is deleted, where renaming does not replace"),
    _row("M-54", "PER-05", "the backup gets the new table"),
    _row("M-55", "PER-05", "no backup is written"),
    _row("M-56", "PER-05", "a start falls back to a half-done persist's file"),
    _row("M-57", "PER-03", "a start without file and backup fails"),
    _row("M-58", "PER-03", "a start goes on when the file cannot be decoded"),
    _row("M-59", "PER-02 PER-06", "an empty file is no reason to write the backup"),
    _row("M-60", "PER-04 HAZ-03", "stored topics do not replace those of the constructor"),
    _row("M-61", "INV-17 PER-04", "a start forgets the stored version"),
    _row("M-62", "SEND-41", "a flush that was not in time is a system error (a) or a failure (b)", "ab"),
    _row("M-63", "SEND-41", "the codes of a missing and of a slow slave are exchanged"),
    _row("M-64", "SEND-41", "properties that are too long are a system error"),
    _row("M-65", "SEND-41", "a busy page cache is answered as a busy system"),
    _row("M-66", "INV-02", "a success is written twice"),
    _row("M-67", "INV-03", "a one-way send is answered"),
    _row("M-68", "SEND-42 HAZ-13 HAZ-15", "the answer names the queue in which the message is stored"),
    _row("M-69", "INV-55", "a message is counted under the topic that was asked for"),
    _row("M-70", "SEND-42", "the queue's counts rise for every topic, not only for the schedule topic"),
    _row("M-71", "SEND-44", "a failed send is multiplied by the commercial base count"),
    _row("M-72", "SEND-43", "the size of a message is divided as an int before it is rounded up"),
    _row("M-73", "TRX-01", "the transaction property is compared with its case (a) or true whenever it is not empty (b)", "ab"),
    _row("M-74", "TRX-03 INV-09", "a transactional send is refused before its topic is created"),
    _row("M-75", "INV-36 TRX-04", "a half message keeps the bits of a prepared one"),
    _row("M-76", "INV-57 FLU-02", "WAIT is stored (a), or taken away for good (b)", "ab"),
    _row("M-77", "FLU-02", "a message without WAIT does not wait"),
    _row("M-78", "INV-34 INV-35 INV-36", "a prepared message takes a queue offset"),
    _row("M-79", "INV-34", "a committed message takes no queue offset"),
    _row("M-80", "INV-35", "a prepared message has the queue's next offset instead of 0"),
    _row("M-81", "INV-34", "the queue offset is counted up although the record did not fit and is tried again"),
    _row("M-82", "INV-39", "a record that does not fit is split over two files"),
    _row("M-83", "INV-38 APP-07", "a record that leaves exactly a blank's 8 bytes does not fit (a), or none need to be left (b)", "ab"),
    _row("M-84", "INV-37", "the end of a file moves its write position by the blank's 8 bytes only"),
    _row(
        "M-85",
        "INV-41",
        "the checksum keeps its top bit (a), covers the properties too (b), or is taken of another form of the body (c)",
        "abc",
    ),
    _row("M-86", "INV-43 APP-08", "ints are stored with their low byte first"),
    _row("M-87", "INV-43 APP-08", "the hosts of birth and of store are exchanged"),
    _row("M-88", "INV-40", "a record has no place for the store time"),
    _row("M-89", "APP-06", "the size limit counts the body only"),
    _row("M-90", "APP-05", "the limit of the properties counts characters only"),
    _row("M-91", "INV-45", "a delayed message's queue is its level"),
    _row("M-92", "INV-45 REC-04", "a delay level above 18 stays (a), or is cut without a change of the property (b)", "ab"),
    _row("M-93", "INV-45", "the topic that was asked for is not kept (a), or only after it was replaced (b)", "ab"),
    _row("M-94", "CL-02", "a prepared message is delayed"),
    _row("M-95", "STO-03", "a put that seems to last for ever is a busy page cache too"),
    _row("M-96", "STO-01", "shutdown and slave are looked at after the topic's length"),
    _row("M-100", "BACK-04", "a broker without write permission refuses a send-back of order topics only"),
    _row("M-101", "BACK-05", "a send-back to a group without retry queues is an error"),
    _row(
        "M-102",
        "DLQ-04 BACK-12 LIV-06",
        "a message has one retry more before it is dead, when it is sent (a) and when it is sent back (b)",
        "ab",
    ),
    _row("M-103", "BACK-12 BACK-13", "delay level 0 means dead letter (a), or each retry has level 3 (b)", "ab"),
    _row("M-104", "INV-49", "each send-back forgets the first topic"),
    _row("M-105", "INV-48 LIV-06", "a send-back is not counted in the message"),
    _row("M-106", "BACK-16", "a send-back is counted under the retry topic"),
    _row("M-107", "BACK-16", "a send-back answers with the codes of a slow flush"),
    _row("M-108", "CLI-14 HAZ-43", "a producer asks for the template's route although the topic has a route of its own"),
    _row("M-109", "CLI-16", "the template's route is cut by the write count"),
    _row("M-110", "CLI-16", "the template's route is kept under the template's name"),
    _row("M-111", "CLI-17", "a refresh that finds no topic forgets the route"),
    _row("M-112", "CLI-30", "a busy system is tried again (a), a missing topic is not (b)", "ab"),
    _row("M-113", "LIV-07", "each attempt has the whole time"),
    _row("M-114", "NS-03 PER-08", "an older version is no change for the name server"),
    _row("M-115", "NS-04 HAZ-36", "the name server forgets topics that a registration does not name"),
    _row("M-116", "INV-59", "the name server adds queue data beside the broker's old ones"),
    _row("M-117", "NS-05", "a slave's registration changes topics"),
    _row("M-118", "NS-07 NS-08 LIV-04", "a broker expires a millisecond early (a), or its topics stay (b)", "ab"),
    _row("M-120", "REM-04", "the short names of two fields are exchanged: j and l (a), k and m (b)", "ab"),
)
