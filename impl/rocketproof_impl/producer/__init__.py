"""The producer: validation, routes, selection of a queue, and sending with retries. Read producer/producer.py first."""
