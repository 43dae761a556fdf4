"""The documents that the explorer opens: witnesses, properties with their counterexamples, histories and findings."""
