"""The reference implementation of producer, name server, broker and store. It knows nothing of the model.

Start reading at broker.sending, which answers a send request from its header to its stored record. What may wait is an
`async def` over the two effects of `tasks`; what the world does comes through `ports`; the simulator runs a cluster of it.
"""
