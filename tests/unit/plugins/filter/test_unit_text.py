# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter does what its documentation shows."""

from __future__ import annotations

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.filter import unit_text as plugin


def test_the_example_of_the_documentation_is_true() -> None:
    [task] = yaml.safe_load(plugin.EXAMPLES)
    comment = [line[2:] for line in plugin.EXAMPLES.splitlines() if line.startswith("# ")]
    text = plugin.FilterModule().filters()["unit_text"](task["vars"]["sections"])
    assert text == "\n".join(comment) + "\n"


def test_documentation_and_filter_have_one_name() -> None:
    assert list(plugin.FilterModule().filters()) == [yaml.safe_load(plugin.DOCUMENTATION)["name"]]
    assert "_value" in yaml.safe_load(plugin.RETURN)


@pytest.mark.parametrize(
    "sections",
    [None, 5, [["Service"]], [["Service", [["ExecStart", ["relative"]]]]], [["S", [["a", None]]]]],
)
def test_what_is_no_unit_is_an_error_a_person_can_read(sections: object) -> None:
    with pytest.raises(AnsibleFilterError, match=r"llmops\.sglang\.unit_text: "):
        plugin.to_unit_text(sections)
