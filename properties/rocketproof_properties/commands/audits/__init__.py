"""The command `audit`: check stored data by the rules of the catalogue, print the findings and write them to files."""
