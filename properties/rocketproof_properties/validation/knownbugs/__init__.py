"""Real bugs of real releases: what they are, where they are mended, and the suite's own search on both releases."""
