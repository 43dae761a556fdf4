"""Reports of a run for a build (JUnit, SARIF, a page, Markdown, GitHub), all written from the same results; what changed since another."""
