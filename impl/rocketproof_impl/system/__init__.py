"""What the ports ask for, from the operating system: disk, clock, randomness, network, threads."""
