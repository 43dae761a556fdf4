"""Faults of the machine on brokers that are started here: kills, losses of power, and a disk that is slow, full or broken."""
