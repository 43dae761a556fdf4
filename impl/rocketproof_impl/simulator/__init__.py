"""The deterministic simulator: a clock, a disk, a network and threads controlled by a test, and a cluster that runs on them."""
