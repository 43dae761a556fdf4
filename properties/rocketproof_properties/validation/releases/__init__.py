"""Compare releases: the switches that describe a release, and the programs in which two releases differ."""
