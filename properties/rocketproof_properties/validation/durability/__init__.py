"""The durability table: which acknowledged messages a fault loses, changes or repeats, by release, flush mode and fault."""
