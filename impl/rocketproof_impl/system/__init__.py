"""The ports on the operating system: disk, clock, randomness, network, threads."""
