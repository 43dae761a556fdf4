"""The command `check`: a request becomes tasks, tasks become units of work for the engines, and units yield rows of the verdict matrix."""
