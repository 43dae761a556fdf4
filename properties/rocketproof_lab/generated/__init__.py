"""Generated changes of the implementation: which of them a validation over the wire notices, which the tests, and what is left."""
