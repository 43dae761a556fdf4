"""One check: what was asked for becomes tasks, tasks become units of work for the engines, and these become rows of the verdict matrix."""
