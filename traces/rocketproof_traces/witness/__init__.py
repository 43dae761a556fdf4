"""Witnesses of properties: as files (`itf`), as histories (`as_history`), shown (`show`, `picture`), explained
(`explain`); graphs of states."""
