"""The command `audit`: stored data judged by the catalogue's rules, told to a person and kept in files."""
