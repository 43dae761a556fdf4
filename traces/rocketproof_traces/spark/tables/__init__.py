"""A store's files as tables: which columns they have, how reading them is divided, and Arrow batches of their rows.

    table = commitlog.TABLE
    parts = table.parts(["/data/store"], clauses, PART_SIZE)        # each is read by itself, in any order, anywhere
    for part in parts:
        for batch in table.read(part, ("topic", "size"), clauses):  # the columns that are asked for, the rows that pass

Nothing here knows Spark; its data source, DuckDB and a plain loop read the same batches.
"""
