"""The names of the wire and of the files: codes, field names, property keys, reserved topics, bits of flags. It imports nothing.

These names are RocketMQ's and do not describe a broker's behaviour. The implementation, the profiles and the checkers can therefore share
them and still check each other. A test that verifies these names independently has its own copy, and states that.
"""
