"""The reference implementation of producer, name server, broker and store. It knows nothing of the model."""
