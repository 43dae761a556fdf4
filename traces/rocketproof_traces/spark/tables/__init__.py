"""A store's files as tables: their columns, how reading is divided, and Arrow batches of their rows.

    table = commitlog.TABLE
    parts = table.parts(["/data/store"], clauses, PART_SIZE)        # readable independently, in any order and process
    for part in parts:
        for batch in table.read(part, ("topic", "size"), clauses):  # the requested columns of the matching rows

Nothing here imports Spark: its data source, DuckDB and a plain loop read the same batches.
"""
