"""Recordings of a real broker, replayed: the recorded requests go to a simulated cluster, and the answers are compared."""
