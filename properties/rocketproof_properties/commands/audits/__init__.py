"""The command `audit`: stored data judged by the catalogue's rules, printed for a person and kept in files."""
