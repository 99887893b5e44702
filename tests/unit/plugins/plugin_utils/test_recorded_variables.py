# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a recording: none that is secret goes in, none that is strange comes out."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.filter.variables import FilterModule
from ansible_collections.llmops.sglang.plugins.plugin_utils._variables import recorded, shareable


def test_only_variables_of_the_roles_are_shared() -> None:
    assert shareable(
        {
            "sglang_tp_size": 8,
            "sglang_quantization": None,
            "sglang_api_key": "planted-1",
            "sglang_admin_api_key": "planted-2",
            "sglang_api_key_file": "/etc/keys/kimi",
            "sglang_bundle_dest": "bundles/",
            "sglang_mine": "planted-3",
            "sglang_environment": {"HF_TOKEN": "planted-4", "A": "b"},
            "sglang_engine_index_url": "https://ci:planted-5@pypi.example/simple",
        }
    ) == {
        "sglang_tp_size": 8,
        "sglang_api_key_file": "/etc/keys/kimi",
        "sglang_environment": {"HF_TOKEN": "<redacted>", "A": "b"},
        "sglang_engine_index_url": "https://<redacted>@pypi.example/simple",
    }


def test_what_is_not_of_a_host_is_ignored_with_a_reason() -> None:
    text = "---\nsglang_tp_size: 8\nsglang_api_key: x\nsglang_hosts: all\nansible_host: y\n5: 6\n"
    taken, ignored = recorded(text)
    assert taken == {"sglang_tp_size": 8}
    assert ignored == [
        "sglang_api_key is ignored: it is a secret",
        "sglang_hosts is ignored: it is for one run, not for a host",
        "ansible_host is ignored: no role of this collection has this variable",
        "5 is ignored: no role of this collection has this variable",
    ]


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "!!python/object:os.system {}", "just text"])
def test_what_is_no_mapping_is_an_error(text: str) -> None:
    with pytest.raises(AnsibleFilterError, match="vars.yml of the recording"):
        FilterModule().filters()["recorded_variables"](text)


def test_the_filter_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: said.append(text))
    filters = FilterModule().filters()
    assert filters["recorded_variables"]("sglang_port: 1\nsglang_x: 2") == {"sglang_port": 1}
    assert len(said) == 1 and "sglang_x is ignored" in said[0]
    assert filters["recorded_variables"]("") == {}
