"""The installed documentation: its list, a page, and its path."""

from collections.abc import Callable
from typing import Any

from rocketproof_properties.commands import pages as documents


def test_list_has_every_page_under_a_unique_name(rocketproof: Callable[..., Any]) -> None:
    listed = " ".join(rocketproof("docs").out.split())
    paths = [path for section in documents.SECTIONS.values() for path in section]
    assert len(documents.pages()) == len(paths) == listed.count("rocketproof docs ")
    for name, page in documents.pages().items():
        assert page.is_file() and f"rocketproof docs {name} " in listed and documents.title(page) in listed


def test_each_page_of_a_folder_is_listed() -> None:
    house = documents.folder()
    lies = {
        str(page.relative_to(house)) for room in ("model", "impl", "properties", "traces") for page in house.glob(f"{room}/docs/**/*.md")
    }
    assert lies and lies <= {path for section in documents.SECTIONS.values() for path in section}


def test_index_lists_every_page() -> None:
    assert (documents.folder() / documents.INDEX).read_text("utf-8") == documents.index(), f"{documents.__name__} prints the page"


def test_earlier_names_of_pages_are_found() -> None:
    assert all(documents.page(alias).stem == name for alias, name in documents.ALIASES.items())


def test_page_or_its_path_is_printed(rocketproof: Callable[..., Any]) -> None:
    shown = rocketproof("docs", "Porting")
    assert shown.code == 0 and "PULL_MESSAGE" in shown.out and max(map(len, shown.out.splitlines())) <= 100
    assert rocketproof("docs", "porting", "--path").out.strip().endswith("properties/docs/porting.md")


def test_an_unknown_page_is_one_line(rocketproof: Callable[..., Any]) -> None:
    refused = rocketproof("docs", "portnig")
    assert refused.code == 2 and "porting" in refused.err and refused.err.count("\n") == 1
