"""The specification drives the implementation: programs of actions, performed on a simulated cluster and compared step by step."""
