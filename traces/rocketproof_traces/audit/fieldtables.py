"""The fields that a user's rule can read, as tables of the documentation.

`python -m rocketproof_traces.audit.fieldtables` prints them for the page `traces/docs/own-rules.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from .fields import AUDITED_ROWS, JUDGED_ROWS, MEANINGS, RULE_ROWS, TEXTS, RuleRows
from .vocabulary import vocabulary


def described(rows: Mapping[str, RuleRows]) -> Sequence[str]:
    """Return the kinds of rows and their fields as lines of Markdown."""
    lines = ["| `over` | A row is | Fields |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {kind.sentence} | [{kind.fields}](#{kind.fields}) |" for name, kind in rows.items()]
    for name in dict.fromkeys(kind.fields for kind in rows.values()):
        fields = vocabulary()[name].row.fields
        lines += ["", f"### {name}", "", "| Field | Type | Meaning |", "| --- | --- | --- |"]
        lines += [f"| `{text}` | text | |" for text in TEXTS.get(name, ())]
        sorts = {"int": "number", "bool": "condition", "enum": "name"}
        lines += [f"| `{field}` | {sorts[fields[field].type.sort]} | {meaning} |" for field, meaning in MEANINGS[name].items()]
    return lines


if __name__ == "__main__":
    for title, names in (("an audit", AUDITED_ROWS), ("a judge", JUDGED_ROWS)):
        lines = described({name: RULE_ROWS[name] for name in names})
        sys.stdout.write("\n".join([f"## Rows and fields of {title}", "", *lines, "", ""]))
