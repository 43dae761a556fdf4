"""The routines of the table of states: find a state, enter it, read it back, move it to a larger table.

`table` describes the bits of an entry.
"""

from __future__ import annotations

from ..routines import GIVEN, acquire, exchange, get, last_bit, load, matches, put, release, routine, store, unrolled

USED, FURTHER, LOCK = 15, 64, 128  # bits of a control byte
FAR = 63  # maximum distance in buckets of a state from its home

# Places in a table's block, which describes the table to the routines below.
AT, HOMES, LOG, SIZE, SLOTS, REST, FIXED, SHIFT, LEVEL = range(9)

# Constants of a layout (see `table.constants`); ALONE is 1 if only one thread uses the table.
WIDTH = KEY = HIGH = LOW = HALF = PRESENT = MASK = HIGH_MASK = LOW_MASK = GIVEN
BYTES: tuple[int, ...] = ()
FACTOR = OTHER = UNDO = UNDO_OTHER = FOLD = GIVEN
ALONE = GIVEN


@routine
def mixed(word: int) -> int:
    """Spread a word of KEY bits over all of them; `unmixed` is the inverse."""
    word = (word ^ word >> HALF) * FACTOR & MASK
    word = (word ^ word >> HALF) * OTHER & MASK
    return word ^ word >> HALF


@routine
def unmixed(word: int) -> int:
    word = (word ^ word >> HALF) * UNDO_OTHER & MASK
    word = (word ^ word >> HALF) * UNDO & MASK
    return word ^ word >> HALF


@routine
def folded(state: int) -> int:
    """Return the bits by which a state's other words change its first."""
    fold = 0
    for k in unrolled(WIDTH - 1):
        fold = (fold ^ get(state, k + 1)) * FOLD
        fold = fold ^ fold >> 32
    return fold & MASK


@routine
def hashed(state: int) -> int:
    """Return KEY bits that, together with its other words, identify the state."""
    return mixed(get(state, 0) & MASK ^ folded(state))


@routine
def home_of(table: int, hash_: int) -> int:
    """Return the address of a state's home bucket."""
    return get(table, AT) + ((hash_ >> LOW) * get(table, HOMES) >> HIGH) * get(table, SIZE)


@routine
def same_words(entry: int, state: int) -> int:
    """Return whether an entry has a state's other words, which begin at `entry`."""
    for k in unrolled(WIDTH - 1):
        if load(entry, BYTES[k + 1]) != get(state, k + 1):
            return 0
        entry = entry + BYTES[k + 1]
    return 1


@routine
def known(table: int, home: int, tag: int, key: int, state: int) -> int:
    """Return whether the state is in the table; its entry in the home bucket would have this `tag` and `key`."""
    size, rest, shift = get(table, SIZE), get(table, REST), get(table, SHIFT)
    compared = (1 << get(table, LEVEL)) - 1
    at = home
    while True:
        control = acquire(at + size - 1, 1)
        matching = matches(at + size - 16, tag) & (1 << 15) - (1 << 15 - (control & USED))
        while matching != 0:
            bit = last_bit(matching)
            entry = at + (14 - bit) * rest
            if ((load(entry, 8) ^ key) & compared) == 0 and (WIDTH == 1 or same_words(entry + get(table, FIXED), state)):
                return 1
            matching = matching ^ 1 << bit
        if control & FURTHER == 0:
            return 0
        at, key = at + size, key + (1 << shift)


@routine
def locked(bucket: int) -> int:
    """Wait for a bucket's lock, take it, and return the control byte before. `bucket` is the address of that byte."""
    while True:
        control = acquire(bucket, 1)
        if control & LOCK == 0 and exchange(bucket, 1, control, control | LOCK) == control:
            return control


@routine
def placed(table: int, home: int, tag: int, key: int, state: int, level: int) -> int:
    """Write a state that is not in the table; 0 if there is no room near its home. Unless ALONE, the caller holds the lock of its home."""
    size, rest, shift, slots = get(table, SIZE), get(table, REST), get(table, SHIFT), get(table, SLOTS)
    at, last = home, key + (FAR << shift)
    while True:
        back = at + size - 1
        held = 0
        if ALONE:
            control = load(back, 1)
        elif at == home:
            control, held = load(back, 1), LOCK
        else:
            control = locked(back)
        used = control & USED
        if used < slots:
            entry, fixed = at + used * rest, get(table, FIXED)
            neighbour = load(entry, 8) & (0 - 1 << 8 * fixed - 1) << 1
            store(entry, 8, neighbour | key | level << get(table, LEVEL))
            if WIDTH > 1:
                entry = entry + fixed
                for k in unrolled(WIDTH - 1):
                    store(entry, BYTES[k + 1], get(state, k + 1))
                    entry = entry + BYTES[k + 1]
            store(back - 1 - used, 1, tag)
            release(back, 1, control + 1 | held)
            return 1
        if key == last:
            release(back, 1, control | held)
            return 0
        release(back, 1, control | FURTHER | held)
        at, key = at + size, key + (1 << shift)


@routine
def entered(table: int, hash_: int, state: int, level: int) -> int:
    """Enter a state: 1 if it is new, 0 if it is known, -1 if there is no room near its home."""
    product = (hash_ >> LOW) * get(table, HOMES)
    home = get(table, AT) + (product >> HIGH) * get(table, SIZE)
    left = (product & HIGH_MASK) >> get(table, LOG) << LOW | hash_ & LOW_MASK
    tag, key = left & 255, left >> 8
    if known(table, home, tag, key, state):
        return 0
    if ALONE:
        return 1 if placed(table, home, tag, key, state, level) else -1
    back = home + get(table, SIZE) - 1
    locked(back)
    result = 0
    if not known(table, home, tag, key, state):
        result = 1 if placed(table, home, tag, key, state, level) else -1
    release(back, 1, load(back, 1) & ~LOCK)
    return result


@routine
def level_of(table: int, bucket: int, slot: int) -> int:
    """Return the level of the state in a slot of the bucket at this address."""
    entry = load(bucket + slot * get(table, REST), 8)
    return (entry & ~((0 - 1 << 8 * get(table, FIXED) - 1) << 1)) >> get(table, LEVEL)


@routine
def read(table: int, bucket: int, number: int, slot: int, state: int) -> int:
    """Write the words of the state in a slot to `state` and return its hash. `number` is the number of the bucket at this address."""
    size, shift = get(table, SIZE), get(table, SHIFT)
    entry = bucket + slot * get(table, REST)
    bits = load(entry, 8)
    left = (bits & (1 << shift) - 1) << 8 | load(bucket + size - 2 - slot, 1)
    home = number - (bits >> shift & FAR)
    homes = get(table, HOMES)
    first = ((home << HIGH) + (left >> LOW << get(table, LOG)) + homes - 1) // homes
    hash_ = first << LOW | left & LOW_MASK
    if WIDTH > 1:
        entry = entry + get(table, FIXED)
        for k in unrolled(WIDTH - 1):
            put(state, k + 1, load(entry, BYTES[k + 1]))
            entry = entry + BYTES[k + 1]
    put(state, 0, unmixed(hash_) ^ folded(state) | PRESENT)
    return hash_


@routine
def move_table(old: int, new: int, first: int, last: int, pocket: int, state: int) -> int:
    """Move the states of the old table's buckets `first` to `last` - 1 to the new table, the last bucket first.

    Returns 0 if a state finds no room, else 1. `pocket` is a buffer for a bucket, `state` for a state.
    """
    size = get(old, SIZE)
    for turn in range(last - first):
        number = last - 1 - turn
        bucket = get(old, AT) + number * size
        used = load(bucket + size - 1, 1) & USED
        for k in range(size >> 3):
            put(pocket, k, get(bucket, k))
            put(bucket, k, 0)
        for slot in range(used):
            hash_ = read(old, pocket, number, slot, state)
            product = (hash_ >> LOW) * get(new, HOMES)
            left = (product & HIGH_MASK) >> get(new, LOG) << LOW | hash_ & LOW_MASK
            home = get(new, AT) + (product >> HIGH) * get(new, SIZE)
            if not placed(new, home, left & 255, left >> 8, state, level_of(old, pocket, slot)):
                return 0
    return 1


@routine
def collect_levels(table: int, buckets: int, low: int, high: int, places: int, out: int, state: int) -> int:
    """Write the states of levels `low` to `high` - 1 to `out` in the order of the table. Level k starts at row places[k - low]."""
    size = get(table, SIZE)
    for number in range(buckets):
        bucket = get(table, AT) + number * size
        used = load(bucket + size - 1, 1) & USED
        for slot in range(used):
            level = level_of(table, bucket, slot)
            if low <= level and level < high:
                read(table, bucket, number, slot, state)
                at = get(places, level - low)
                put(places, level - low, at + 1)
                for k in unrolled(WIDTH):
                    put(out, at * WIDTH + k, get(state, k))
    return 0
