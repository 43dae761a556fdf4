"""Random walks through a kernel.

All arrays are int64 unless stated otherwise. `start` has one packed initial state per row; `here` and `out` hold packed states one after
another.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic
from __future__ import annotations

import numpy as np

from ..routines.compiled import compiled
from .calls import call_masks, call_succ
from .chance import GAMMA, MIX_1, MIX_2
from .kernel import BITS

STEPS, DEADLOCK, UNTIL = 0, 1, 2  # how a run ended


@compiled
def walk_runs(calls, plan, seed, weights, owner, consts, start, out, tags, counts, taken, cover, here, masks, seen, last, length, ended):
    """Simulate one run per row of `seen`. Return the row of the first run that met a fault, or -1.

    `calls` are the addresses of succ, check, steps and ends (0 for none). `plan` has five numbers:

    - the number of the first run,
    - the steps of a run,
    - the words of `masks` that belong to check,
    - the words of `masks` that belong to check or steps,
    - the bit that ends a run (-1 for none).

    `seed` is a uint64. `weights` (float64) and `owner` have one element per action instance. `seen` and `last` receive the masks of each
    run.
    """
    gamma, mix_1, mix_2 = np.uint64(GAMMA), np.uint64(MIX_1), np.uint64(MIX_2)
    s27, s30, s31, s11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
    succ, check, step, end = calls
    first, steps, width, middle, stop = plan
    starts, words = start.shape
    for row in range(length.size):
        z = seed + gamma * np.uint64(first + row + 1)
        z = (z ^ (z >> s30)) * mix_1
        z = (z ^ (z >> s27)) * mix_2
        random = z ^ (z >> s31)
        begin = 0
        if starts > 1:
            random = random + gamma
            z = random
            z = (z ^ (z >> s30)) * mix_1
            z = (z ^ (z >> s27)) * mix_2
            begin = int(float((z ^ (z >> s31)) >> s11) * 2.0**-53 * starts)
        for k in range(words):
            here[k] = start[begin, k]
        done = 0
        while True:
            if check != 0:
                if call_masks(check, here.ctypes.data, consts.ctypes.data, masks.ctypes.data, 0) < 0:
                    return row
                for k in range(width):
                    seen[row, k] |= masks[k]
            if stop >= 0 and masks[stop // BITS] >> (stop % BITS) & 1:
                ended[row] = UNTIL
                break
            if done == steps:
                break
            n = call_succ(
                succ, here.ctypes.data, consts.ctypes.data, out.ctypes.data, tags.ctypes.data, counts.ctypes.data, cover.ctypes.data
            )
            if n < 0:
                return row
            if n == 0:
                if end != 0:
                    if call_masks(end, here.ctypes.data, consts.ctypes.data, masks.ctypes.data + 8 * middle, 0) < 0:
                        return row
                    for k in range(middle, masks.size):
                        seen[row, k] |= masks[k]
                ended[row] = DEADLOCK
                break
            whole = 0.0
            for k in range(n):
                whole += weights[tags[k]]
            random = random + gamma
            z = random
            z = (z ^ (z >> s30)) * mix_1
            z = (z ^ (z >> s27)) * mix_2
            uniform = float((z ^ (z >> s31)) >> s11) * 2.0**-53
            pick = 0
            if whole <= 0.0:
                pick = int(uniform * n)
            else:
                mark, passed = uniform * whole, 0.0
                for k in range(n):
                    weight = weights[tags[k]]
                    if weight > 0.0:
                        pick = k
                        passed += weight
                        if mark < passed:
                            break
            taken[owner[tags[pick]]] += 1
            for k in range(words):
                here[words + k] = here[k]
                here[k] = out[pick * words + k]
            done += 1
            if step != 0:
                after = here.ctypes.data
                before = after + 8 * words
                if call_masks(step, before, consts.ctypes.data, masks.ctypes.data + 8 * width, after) < 0:
                    return row
                for k in range(width, middle):
                    seen[row, k] |= masks[k]
        length[row] = done
        for k in range(masks.size):
            last[row, k] = masks[k]
    return -1
