# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML report in headless Chromium: on a desk, on a phone, light, dark and on paper.

Pictures and the printed page are kept in the folder $PAGES_OUT where that is set.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._render.html_page import fleet_page
from ansible_collections.llmops.sglang.tests.pages.png import colors
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.report_hosts import (
    fleet,
    planned,
)

WIDTHS = (360, 768, 1280)
SCHEMES = {"light": "1", "dark": "0"}
LIMIT_S = 60
#: Tells the bars of the page from a few stray pixels.
VISIBLE_PIXELS = 150


@dataclass(frozen=True)
class Browser:
    """One Chromium after another, each with a home that is thrown away."""

    folder: Path

    def run(self, target: Path, *options: str) -> str:
        """What it prints; fails the test when it fails or does not end in time."""
        home = self.folder / "home"
        argv = [
            "chromium",
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={home}",
            # Its sandbox refuses to run as root, which a lab often is.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *options,
            target.as_uri(),
        ]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, errors="replace"
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("PAGES_OUT") or tmp_path_factory.mktemp("pages"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def page(out: Path) -> Path:
    """Every kind of host on one page."""
    path = out / "fleet.html"
    path.write_text(fleet_page(fleet()), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def measured(browser: Browser, page: Path, scheme: str, tmp_path_factory: Any) -> list[Any]:
    """What measure.js found at each width."""
    source = html.escape(page.read_text(encoding="utf-8"))
    frames = "".join(
        f'<iframe width="{width}" height="800" srcdoc="{source}"></iframe>' for width in WIDTHS
    )
    script = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
    harness = tmp_path_factory.mktemp("harness") / "harness.html"
    harness.write_text(
        '<!DOCTYPE html><meta charset="utf-8"><style>:root { color-scheme: light dark }'
        f"iframe {{ border: 0 }}</style><body>{frames}<script>{script}</script></body>",
        encoding="utf-8",
    )
    printed = browser.run(
        harness, "--dump-dom", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"
    )
    found = re.search(r'<pre id="measured">(.*?)</pre>', printed, re.DOTALL)
    assert found, printed[-2000:]
    answer = json.loads(html.unescape(found[1]))
    assert [view["width"] for view in answer] == list(WIDTHS)
    assert {view["dark"] for view in answer} == {scheme == "dark"}
    return list(answer)


def test_nothing_is_wider_than_the_screen(measured: list[Any]) -> None:
    for view in measured:
        assert not view["wide"] and view["scroll"] <= view["width"], view["width"]


def test_all_text_can_be_read(measured: list[Any]) -> None:
    for view in measured:
        assert view["texts"] > 100
        assert not view["pale"], view["width"]


def test_all_bars_are_seen_and_their_numbers_fit(measured: list[Any]) -> None:
    for view in measured:
        assert len(view["bars"]) > 30
        for stack in view["bars"]:
            assert stack["width"] > 0 and stack["height"] >= 20, stack
            assert stack["fill"] != view["paper"] and stack["fill"] != "rgb(0, 0, 0)", stack
            if stack["text"]:
                assert stack["room"] >= 0 and stack["contrast"] >= 4.5, (view["width"], stack)


def test_a_picture_shows_the_bars(
    browser: Browser, out: Path, measured: list[Any], scheme: str
) -> None:
    one = out / "host.html"
    one.write_text(fleet_page({"gpu-01": planned("headline")}), encoding="utf-8")
    picture = out / f"host-{scheme}.png"
    browser.run(
        one,
        f"--screenshot={picture}",
        "--window-size=800,1800",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
    )
    seen = colors(picture.read_bytes())
    fills = {stack["kind"]: stack["fill"] for stack in measured[-1]["bars"]}
    for kind in ("weights", "kv", "graphs", "pinned", "cache", "reserve"):
        red, green, blue = map(int, re.findall(r"\d+", fills[kind]))
        assert seen[red, green, blue] > VISIBLE_PIXELS, kind
    brightness = sum(sum(color) * count for color, count in seen.items()) / sum(seen.values()) / 3
    assert brightness < 90 if scheme == "dark" else brightness > 170


def test_it_prints(browser: Browser, page: Path, out: Path) -> None:
    paper = out / "fleet.pdf"
    browser.run(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    sheets = len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))
    assert len(fleet()) <= sheets <= 8 * len(fleet())
