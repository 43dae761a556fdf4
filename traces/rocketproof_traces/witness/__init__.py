"""Witnesses of properties: as files (`itf`, `restore`), as histories (`as_history`), shown (`show`, `picture`), explained
(`explain`); graphs of states."""
