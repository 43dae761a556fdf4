"""Reports: what every command shares between its result and its user.

Input: options as users type them (`choices.py`), and a run's results (`results.py`).
Output: text on the terminal (`output.py`), files (`files.py`), an exit code (`exitcode.py`), and reports for a build: JUnit, SARIF,
Markdown, GitHub annotations, a page, a badge, and what changed since an earlier run.
Read first: `results.py`.
"""
