"""Generated changes of the implementation: which ones a validation over the wire or the tests notice, and which remain unnoticed."""
