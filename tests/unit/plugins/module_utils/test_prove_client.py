# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys go to the server and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils._prove.client import (
    Client,
    Keys,
    read_keys,
)
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.gate_world import serving


def test_keys_are_read_from_the_secrets_file(tmp_path: Path) -> None:
    path = tmp_path / "secrets.yaml"
    path.write_text(json.dumps({"api-key": "one", "admin-api-key": ""}))
    keys = read_keys(str(path))
    assert (keys.normal, keys.admin) == ("one", None)
    assert "one" not in repr(keys)


def test_no_secrets_file_means_no_keys(tmp_path: Path) -> None:
    assert read_keys(None) == read_keys(str(tmp_path / "absent")) == Keys()


@pytest.mark.parametrize("content", ["api-key: top-secret", '["top-secret"]'])
def test_a_broken_secrets_file_is_an_error_without_its_content(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "secrets.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"secrets\.yaml: not") as error:
        read_keys(str(path))
    assert "top-secret" not in str(error.value)
    assert error.value.__cause__ is None


def test_the_admin_key_is_only_sent_where_it_is_asked_for() -> None:
    with serving({"/a": {}, "/b": {}}) as server:
        client = Client(server.url, Keys("one", "two"))
        client.get("/a")
        client.post("/a", {})
        client.post("/b", {}, admin=True)
        Client(server.url, Keys("one")).post("/b", {}, admin=True)
        Client(server.url, Keys()).get("/a")
    assert [key for *_rest, key in server.asked] == [
        "Bearer one",
        "Bearer one",
        "Bearer two",
        "Bearer one",
        None,
    ]


def test_an_error_of_the_server_is_told_without_the_key() -> None:
    with serving({"/a": lambda _body: (500, {"detail": "key very-secret-one"})}) as server:
        answer = Client(server.url, Keys("very-secret-one")).get("/a")
    assert (answer.ok, answer.status) == (False, 500)
    assert answer.reason is not None
    assert "HTTP 500" in answer.reason
    assert "very-secret-one" not in answer.reason


def test_nobody_there_and_no_answer_are_told_apart() -> None:
    with serving({}) as server:
        url = server.url
    gone = Client(url, Keys()).get("/a")
    assert (gone.status, gone.refused) == (None, True)
    bad = Client("http://127.0.0.1:1:2", Keys()).get("/a")
    assert (bad.status, bad.refused) == (None, False)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving({"/a": "text"}) as server:
        assert Client(server.url, Keys()).get("/a").body == "text"
