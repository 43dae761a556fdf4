"""What is claimed of the described system, what drives and judges implementations, and the command: the top of the house."""
