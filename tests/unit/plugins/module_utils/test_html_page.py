# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: whole, alone, safe whatever a host says, and with bars that add up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.html_page import fleet_page
from ansible_collections.llmops.sglang.plugins.module_utils._render.html_style import STYLE
from ansible_collections.llmops.sglang.plugins.module_utils._render.memory import KINDS
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.plan_facts import (
    host,
    wishes,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.report_hosts import (
    HOSTILE,
    fleet,
    host_of,
    planned,
)

Element = ElementTree.Element


@pytest.fixture(scope="module")
def page() -> str:
    return fleet_page(fleet())


@pytest.fixture(scope="module")
def root(page: str) -> Element:
    return parse(page)


def parse(page: str) -> Element:
    """An XML parser is stricter than any browser: every element closed, every text escaped."""
    doctype, _end, rest = page.partition("\n")
    assert doctype == "<!DOCTYPE html>"
    return ElementTree.fromstring(rest)


def text_of(element: Element) -> str:
    return "".join(element.itertext())


def sections(root: Element) -> dict[str, Element]:
    """Section of each host by its heading."""
    return {text_of(section.findall("h2")[0]): section for section in root.iter("section")}


def test_it_needs_nothing_but_itself(root: Element) -> None:
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "main", "section"}
    allowed |= {"footer", "h1", "h2", "h3", "p", "a", "b", "small", "span", "div", "dl", "dt", "dd"}
    allowed |= {"table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "pre", "code"}
    allowed |= {"details", "summary", "ul", "li", "svg", "g", "rect", "text", "desc"}
    allowed |= {"defs", "pattern", "path"}
    assert {element.tag for element in root.iter()} <= allowed
    for element in root.iter():
        assert not {"src", "style", "srcset", "data"} & set(element.attrib)
        assert not [name for name in element.attrib if name.startswith("on")]
        assert element.get("href", "#").startswith("#")
    assert set(re.findall(r"url\(([^)]*)\)", STYLE)) == {"#hatch"} and "@import" not in STYLE


def test_links_and_labels_lead_somewhere(root: Element) -> None:
    known = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(known) == len(set(known))
    links = [element.get("href", "")[1:] for element in root.iter("a")]
    labels = [name for svg in root.iter("svg") for name in svg.get("aria-labelledby", "").split()]
    assert len(links) == len(fleet()) and set(links + labels) <= set(known)


def test_what_a_host_says_stays_text(root: Element) -> None:
    seen = HOSTILE.replace("\x1b", "\ufffd")
    section = sections(root)[seen]
    for place in (".//h2", ".//p[@class='quiet']", ".//div[@class='finding warn']/p"):
        assert seen in text_of(section.findall(place)[0]), place
    assert seen in text_of(sections(root)["gpu-09"])


def test_a_bar_says_its_numbers_to_those_who_cannot_see_it(root: Element) -> None:
    bars = [svg for svg in root.iter("svg") if svg.get("role") == "img"]
    assert bars
    for svg in bars:
        title, desc = svg.findall("title")[0], svg.findall("desc")[0]
        assert svg.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        told = text_of(desc)
        for kind in (group.get("class", "") for group in svg.findall("g")):
            assert KINDS[kind] in told


def test_segments_stand_side_by_side_and_fill_their_bar(root: Element) -> None:
    for svg in (svg for svg in root.iter("svg") if svg.get("role") == "img"):
        at = 0.0
        for group in svg.findall("g"):
            rect = group.findall("rect")[0]
            assert percent(rect, "x") == pytest.approx(at, abs=0.001)
            at += percent(rect, "width")
        assert percent(svg.findall("rect")[0], "width") == pytest.approx(at, abs=0.01)


def percent(element: Element, name: str) -> float:
    return float(element.get(name, "").rstrip("%"))


def cells(section: Element, heading: str) -> Iterator[list[str]]:
    """Rows of the first table below a heading."""
    children = list(section)
    [start] = [n for n, child in enumerate(children) if text_of(child).startswith(heading)]
    table = [found for child in children[start:] for found in child.iter("table")][0]
    for row in table.iter("tr"):
        yield [text_of(cell) for cell in row]


def test_the_headline_in_numbers(root: Element) -> None:
    section = sections(root)["gpu-01"]
    assert ["tokens in reach", "159,300 tokens"] in [row[:2] for row in cells(section, "Context")]
    gpu = {row[0]: row[1] for row in cells(section, "GPU memory")}
    assert gpu["weights"] == "63.7 GiB" and gpu["KV cache"] == "10.4 GiB"
    ram = {row[0]: row[1] for row in cells(section, "RAM, 449 GiB")}
    assert (ram["programs"], ram["page cache"], ram["free"]) == (
        "53.0 GiB",
        "339.0 GiB",
        "57.0 GiB",
    )
    first = next(row for row in cells(section, "More context") if row[0].startswith("1. "))
    assert "sglang_hicache_mode: auto" in first[0] and first[-1] == "for certain"


def test_hosts_that_failed_are_on_it_as_failed(root: Element) -> None:
    summary = next(root.iter("table"))
    rows = {text_of(row[0]): [text_of(cell) for cell in row] for row in summary.iter("tr")}
    assert len(rows) == 1 + len(fleet())
    assert rows["gpu-09"][1] == "FAILED"
    assert rows["gpu-07"][3] == "not planned"
    assert "Failed: No route to host" in text_of(sections(root)["gpu-09"])
    assert "sglang_model_path is not set" in text_of(sections(root)["gpu-07"])


def test_the_unknown_is_unknown(root: Element) -> None:
    rows = dict(row[:2] for row in cells(sections(root)["shared"], "Context"))
    assert rows["device tier"] == "none"  # nothing runs
    assert "tokens in reachunknownplanned" in text_of(sections(root)["shared"])
    assert "GPU 0shares the host's RAM" in text_of(sections(root)["spark"])
    assert "None" not in "".join(root.itertext())


def test_the_predicted_is_hatched_and_said() -> None:
    facts = host("0.5.21", tokens=None)
    page = fleet_page({"a": host_of(facts, wishes(mem_fraction_static=0.9))})
    root = parse(page)
    assert "Hatched is predicted, +/- 7 %" in text_of(root)
    assert any(rect.get("class") == "hatch" for rect in root.iter("rect"))
    measured = parse(fleet_page({"a": host_of(host("0.5.21"), wishes())}))
    tiers = [svg for svg in measured.iter("svg") if "-tiers-" in svg.get("aria-labelledby", "")]
    assert tiers and not any(
        rect.get("class") == "hatch" for svg in tiers for rect in svg.iter("rect")
    )


def test_after_a_deployment_it_says_how_each_host_ended() -> None:
    hosts: dict[str, Any] = {
        "a": {**planned("headline"), "gate": {"verdict": "blocked", "need": "restart"}},
        "b": {**planned("headline"), "gate": {"verdict": "nothing", "need": "none"}},
    }
    rows = [
        [text_of(cell) for cell in row]
        for row in next(parse(fleet_page(hosts)).iter("table")).iter("tr")
    ]
    assert [row[1] for row in rows[1:]] == ["BLOCKED", "nothing to do"]


def test_no_secret_is_on_it() -> None:
    """Neither one that the host's files hold, nor one from the instance's environment."""
    asked = {"environment": {"HF_TOKEN": "hf-planted-secret"}}
    page = fleet_page({"a": planned("headline", **asked), "b": planned("h200-nvlink", **asked)})
    assert "planted" not in page and "&lt;redacted&gt;" in page


def test_the_same_data_give_the_same_page(page: str) -> None:
    assert fleet_page(fleet()) == page
    one = fleet_page({"gpu-01": planned("headline")})
    assert "<h1>SGLang on gpu-01</h1>" in one and "<a " not in one


def test_there_may_be_nothing_at_all() -> None:
    root = parse(fleet_page({"a": {"facts": {}, "plan": None, "failure": "lost"}}))
    assert "No host was measured." in text_of(root)
