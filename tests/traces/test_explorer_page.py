"""The page as one file: it embeds the document as text, loads nothing, and no trace can become markup."""

import json
import re
from html.parser import HTMLParser

import pytest

from rocketproof_model import Enum, Model
from rocketproof_model.result import Witness
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.explorer import page
from rocketproof_traces.explorer.document import of_witness

NASTY = "</script><script>alert(1)</script><!--<script>"


class Tags(HTMLParser):
    """The tags of a page with attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


def nasty() -> Witness:
    m = Model(NASTY)
    mood = m.var("mood", Enum("calm", NASTY, "\u2028]]>"), init="calm", sentence=NASTY)

    def go(a) -> None:
        a.guard(NASTY, mood == "calm", NASTY)
        a.set(mood, NASTY)

    go.__doc__ = NASTY
    m.action(name="go")(go)
    m.always(NASTY, mood == "calm", NASTY)
    return Witness(m.given(), m.properties[0], (), ((0,),), None, NASTY)


def test_page_contains_its_document(skew: Witness) -> None:
    document = of_witness(skew)
    found = Tags(page.html(document))
    (place,) = [k for k, (_, attrs) in enumerate([t for t in found.tags if t[0] == "script"]) if attrs.get("id") == "document"]
    assert json.loads(found.scripts[place]) == json.loads(json.dumps(document))
    assert json.loads(Tags(page.html()).scripts[place]) is None


def test_hostile_trace_is_text() -> None:
    plain, hostile = Tags(page.html()), Tags(page.html(of_witness(nasty())))
    assert hostile.tags == plain.tags
    assert any(NASTY in json.dumps(json.loads(text or "0")) for text in hostile.scripts if text.startswith("{"))
    assert "alert(1)</script>" not in page.html(of_witness(nasty()))


def test_page_loads_nothing(skew: Witness) -> None:
    found = Tags(page.html(of_witness(skew)))
    assert not [tag for tag, attrs in found.tags if {"src", "srcset", "action"} & attrs.keys()]
    links = [str(attrs["href"]) for _, attrs in found.tags if "href" in attrs]
    assert all(link.startswith(("#", "data:")) for link in links)
    policies = [str(attrs.get("content")) for _, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    assert "unsafe" not in re.sub("style-src[^;]*", "", policies[0])
    assert len(page.html(of_witness(skew)).encode()) < 2 * 2**20


def test_unbuilt_page_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nothing.html", "server.py"):
        page.template.cache_clear()
        monkeypatch.setattr(page, "NAME", name)
        with pytest.raises(TraceError, match="npm run build"):
            page.html()
    page.template.cache_clear()
