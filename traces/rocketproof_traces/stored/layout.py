"""Offsets and sizes of the file formats: a commit log record, a consume queue entry, an index file (APP-08, REC-04).

All numbers are big-endian. A record has a fixed layout up to its body. Two bits of its system flag make its hosts longer. Its magic number
determines how many bytes the length of its topic has.
"""

from __future__ import annotations

from typing import Final

from rocketproof_protocol import properties

MESSAGE_MAGIC: Final = 0xDAA320A7
MESSAGE_MAGIC_V2: Final = 0xDAA320AB  # the length of the topic has two bytes
BLANK_MAGIC: Final = 0xCBD43194

# A record of the commit log. An IPv6 host shifts all later offsets by 12.
SIZE_AT, MAGIC_AT, BODY_CRC_AT, QUEUE_ID_AT, FLAG_AT = 0, 4, 8, 12, 16
QUEUE_OFFSET_AT, PHYSICAL_OFFSET_AT, SYS_FLAG_AT, BORN_TIMESTAMP_AT, BORN_HOST_AT = 20, 28, 36, 40, 48
STORE_TIMESTAMP_AT, STORE_HOST_AT, RECONSUME_TIMES_AT, PREPARED_OFFSET_AT, BODY_LENGTH_AT, BODY_AT = 56, 64, 72, 76, 84, 88
IPV6_MORE: Final = 12
FIXED_SIZE: Final = 91  # a record of the first version with IPv4 hosts, without body, topic and properties
BLANK_SIZE: Final = 8  # size and magic number of a blank; it fills the rest of its file

# A log of DLedger has a header before each record: type 4, size 4, index 8, term 8, position 8, channel 4, checksums of the chain and of
# the body 4 + 4, body size 4. The size covers header and body. Only an entry of type data has a record. A type and a size fill the rest of
# a file. The index of the log has for each entry: type 4, position 8, size 4, index 8, term 8.
LEDGER_HEADER: Final = 48
LEDGER_DATA, LEDGER_OTHERS, LEDGER_BLANK = 1, (2, 3), -1
LEDGER_INDEX: Final = 32

# Limits of the lengths in a record.
TOPIC_LIMIT, PROPERTIES_LIMIT = 127, 32767

# Separators in the text of the properties, as bytes.
NAME_END, PROPERTY_END = ord(properties.NAME_END), ord(properties.PROPERTY_END)
RECORD_CRC_SIZE: Final = 20  # "__CRC32#", byte 1, ten digits, byte 2: the last bytes of a record, if the broker adds them

# A consume queue: physical offset 8, size 4, tags code 8. Filler before a queue's first entry has the size FILLER_SIZE.
ENTRY_SIZE: Final = 20
FILLER_SIZE: Final = 0x7FFFFFFF
EXTENSION_LIMIT: Final = -(1 << 31) - 1  # a tags code up to this value is an address in the queue's extension

NO_QUEUE, ENTRY, NO_ENTRY, FILLER = range(4)
"""What is found at an index of a queue.

- NO_QUEUE: the store has no such queue.
- ENTRY: an entry.
- NO_ENTRY: nothing, because the index is before the queue's first entry or after its last.
- FILLER: filler.
"""

# An index file: begin and end timestamps 8 + 8, begin and end physical offsets 8 + 8, slots in use 4, next entry 4;
# then slots of 4; then entries: key's hash 4, physical offset 8, seconds since the begin timestamp 4, previous entry of the slot 4.
INDEX_HEADER, INDEX_SLOT, INDEX_ENTRY = 40, 4, 20
