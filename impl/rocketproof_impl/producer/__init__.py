"""The producer: validation, routes, the choice of a queue, and sending with its retries. Start reading at producer.producer."""
