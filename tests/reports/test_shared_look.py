"""Pages of runs and pages of traces have the same colours and fonts, and the same text for each key that both have."""

import re
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPORTS = files("rocketproof_properties.reports")


def variables(style: str) -> dict[str, str]:
    """Return the colours and fonts of a sheet on a screen: the first declaration of each, since those for paper follow."""
    return dict(reversed(re.findall(r"(--[a-z0-9-]+): ([^;]+);", style)))


def test_page_of_a_run_has_the_explorers_colours() -> None:
    run = variables(REPORTS.joinpath("page.css").read_text("utf-8"))
    explorer = variables((ROOT / "traces" / "explorer" / "src" / "style.css").read_text("utf-8"))
    assert len(run) > 10
    assert run == {name: explorer[name] for name in run}


def test_page_of_a_run_names_shared_keys_as_the_explorer() -> None:
    run = dict(re.findall(r"\('([^']+)', '([^']+)'\)", REPORTS.joinpath("page.html.j2").read_text("utf-8")))
    source = (ROOT / "traces" / "explorer" / "src" / "keys.ts").read_text("utf-8")
    for key in ("t", "?"):
        assert f'keys: ["{key}"], what: "{run[key]}"' in source
