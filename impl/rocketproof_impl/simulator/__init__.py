"""The deterministic simulator: a clock, a disk, a network and threads that do what the test decides, and a whole cluster on them."""
