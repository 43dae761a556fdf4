"""Programs on a simulated cluster: actions of the specification, compared step by step, and plain messages, whose history is judged."""
