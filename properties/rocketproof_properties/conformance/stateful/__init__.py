"""Programs on a simulated cluster: actions of the specification, compared step by step, and messages, whose histories are judged."""
