"""What releases do otherwise: which switches describe one, and in which programs two differ."""
