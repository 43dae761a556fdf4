"""The catalogue as a test suite: one run of programs on a user's broker, and a pytest item for each id that the run can judge."""
