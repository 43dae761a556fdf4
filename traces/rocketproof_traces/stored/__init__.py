"""A RocketMQ store's files read at the speed of memory, as columns of numbers.

    files = log_files(["/data/store"])                # segments: the files of the commit log
    for part in ranges(files):                        # byte ranges of 128 MiB, each read by itself
        walk = Walk(part, Names())       # walk: records and corrupt stretches of one range
        for chunk in walk:                            # up to some thousand rows
            chunk["queueOffset"], chunk["topic"]      # facts: one int64 array a column
            chunk.text("topic")                       # text and bodies, only where they are asked for
        walk.begin, walk.end                          # where the walk began and ended
    mend(walked)                                      # the ranges to read again, as neighbours disagree on a border

Nothing here imports Spark. Importing the package starts no compiler: kernels are compiled (or loaded from Numba's cache)
with the first walk.
"""
