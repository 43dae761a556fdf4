"""Does what a broker has stored keep the rules? Findings over commit log, consume queues and topic table."""
