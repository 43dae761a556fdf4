"""The reference implementation of producer, name server, broker and store. It knows nothing of the model.

Input: profiles (`rocketproof_profiles`) and wire names (`rocketproof_protocol`). Output: a cluster that answers requests, in the simulator
or as served processes. Read `broker/sending.py` first: it answers a send request, from its header to its stored record. Functions that may
wait are `async def` over the two effects of `tasks`. Clock, disk and network are passed in through `ports`.
"""
