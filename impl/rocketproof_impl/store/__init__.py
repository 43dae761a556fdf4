"""The message store: commit log, consume queues, delayed delivery."""
