"""Faults of the machine on brokers that are started for the tests: kills, power losses, and a disk that is slow, full or broken."""
