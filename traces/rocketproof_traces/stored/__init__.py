"""Read a RocketMQ store's files at memory speed, as columns of numbers.

    files = log_files(["/data/store"])                # segments: the files of the commit log
    for part in ranges(files):                        # byte ranges of 128 MiB, each readable alone
        walk = Walk(part, NameTable())                # walk: records and corrupt stretches of one range
        for chunk in walk:                            # some thousand rows each
            chunk["queueOffset"], chunk["topic"]      # facts: one int64 array per column
            chunk.text("topic")                       # text and bodies, only on request
        walk.walked                                   # where the walk began and ended
    ranges_to_reread(walked)                          # the ranges whose neighbours disagree on a border

Nothing here imports Spark. The import starts no compiler: the first walk compiles the kernels, or loads them from Numba's cache. Read
`walk` first.
"""
