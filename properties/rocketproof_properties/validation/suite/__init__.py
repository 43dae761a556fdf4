"""The catalogue as a test suite: one run of programs on somebody's broker, and an item of pytest for each id that the run can judge."""
