"""What the explorer opens: witnesses, properties with their counterexamples, histories and findings, as the page's documents."""
