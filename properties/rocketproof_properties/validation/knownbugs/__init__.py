"""Known bugs of RocketMQ releases: their description, the releases that have or fix them, and a search for them with the suite."""
