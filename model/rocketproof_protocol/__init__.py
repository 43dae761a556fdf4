"""The names of the wire and of the files: codes, field names, property keys, reserved topics, bits of flags. It imports nothing.

They are RocketMQ's own and say nothing of how a broker behaves, so that the implementation, the model's profiles and the checkers
can share them and still judge each other. A test that is a second opinion on them keeps its own copy and says so.
"""
