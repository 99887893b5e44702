# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: thin, complete in its documentation, the same in check mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.module_utils.testing")
yaml = pytest.importorskip("yaml")

from ansible.module_utils.testing import patch_module_args  # noqa: E402
from ansible_collections.llmops.sglang.plugins.module_utils._probe.redact import (  # noqa: E402
    Redactor,
)
from ansible_collections.llmops.sglang.plugins.modules import host_facts  # noqa: E402
from ansible_collections.llmops.sglang.tests.unit.plugins.module_utils.planted import (  # noqa: E402
    SECRETS_FILE,
    PlantedHost,
)

# Named by the engine.
LIMITS = "server.startup.limits"
RECORDINGS = Path(__file__).parents[2] / "recordings"


def run(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """What the module returns."""
    with patch_module_args(options), pytest.raises(SystemExit):
        host_facts.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_the_module_returns_facts_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    options = {"recording": str(RECORDINGS / "headline")}
    result = run(capsys, **options)
    facts = result["ansible_facts"]["sglang"]
    assert set(result) <= {"ansible_facts", "invocation", "changed"} and not result.get("changed")
    assert len(facts["gpu"]["devices"]) == 8
    assert run(capsys, **options, _ansible_check_mode=True)["ansible_facts"] == {"sglang": facts}


def test_parts_and_detail(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(
        capsys, recording=str(RECORDINGS / "headline"), gather_subset=["server"], detail=True
    )
    facts = result["ansible_facts"]["sglang"]
    assert "gpu" not in facts and len(facts["server"]["startup"]["ranks"]) == 8


def test_a_recording_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, recording="/no/such/host.tar.gz")
    assert result["failed"] is True
    assert result["msg"] == (
        "there is no recording at /no/such/host.tar.gz; change the option recording"
    )


def test_a_bundle_is_written_and_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "host.tar.gz"
    options: dict[str, Any] = {
        "recording": str(RECORDINGS / "headline"),
        "bundle": str(path),
        "bundle_names": ["gpu-01"],
        "bundle_variables": {"sglang_router": "http://gpu-01/", "x": {"HF_TOKEN": "planted-x"}},
    }
    dry = run(capsys, **options, _ansible_check_mode=True)
    assert dry["changed"] is True and dry["bundle"]["bytes"] is None
    assert list(tmp_path.iterdir()) == []
    result = run(capsys, **options)
    assert result["changed"] is True
    bundle = result["bundle"]
    assert (bundle["path"], bundle["bytes"]) == (str(path), path.stat().st_size)
    assert bundle["files"] == dry["bundle"]["files"] > 20
    assert bundle["removed"]["gpus"] == 8 and bundle["removed"]["secrets"] > 0
    again = run(capsys, recording=str(path))
    assert again["changed"] is False
    assert again["variables"] == (
        '---\nsglang_router: "http://host-1/"\nx: {"HF_TOKEN": "<redacted>"}\n'
    )
    facts = [answer["ansible_facts"]["sglang"] for answer in (result, again)]
    assert facts[0] == facts[1] and len(facts[0]["gpu"]["devices"]) == 8


def test_a_bundle_that_cannot_be_written_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = f"{tmp_path}/none/host.tar.gz"
    result = run(capsys, recording=str(RECORDINGS / "headline"), bundle=path)
    assert result["failed"] is True
    assert result["msg"] == f"{path}: No such file or directory; change the option bundle"


@pytest.mark.parametrize("running", [True, False])
def test_nothing_that_the_module_says_holds_a_secret(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    running: bool,
) -> None:
    host = PlantedHost(tmp_path / "host", running)
    # As the role hands them over; the roles' specs are read on the controller only.
    shared = Redactor().data(host.variables)
    monkeypatch.setattr(host_facts, "open_source", lambda _recording: host.live)
    result = run(
        capsys,
        secrets_file=SECRETS_FILE,
        bundle=f"{tmp_path}/host.tar.gz",
        bundle_variables=shared,
        detail=True,
        _ansible_diff=True,
        _ansible_verbosity=4,
    )
    assert result["bundle"]["removed"]["secrets"] > 20
    said = json.dumps(result)
    assert [secret for secret in host.secrets if secret in said] == []


def documented(contains: dict[str, Any], prefix: str = "") -> set[str]:
    """Every documented key, by its path."""
    found: set[str] = set()
    for name, entry in contains.items():
        assert entry["description"] and entry["type"], prefix + name
        found.add(prefix + name)
        found |= documented(entry.get("contains", {}), f"{prefix}{name}.")
    return found


def returned(value: Any, prefix: str = "") -> set[str]:
    """Every key that comes out, by its path; what is named by the engine or a rank is no key."""
    found: set[str] = set()
    if isinstance(value, list):
        for entry in value:
            found |= returned(entry, prefix)
    elif isinstance(value, dict):
        for name, entry in value.items():
            found.add(prefix + name)
            if name not in ("info", "unknown", "ranks", "draft") and prefix + name != LIMITS:
                found |= returned(entry, f"{prefix}{name}.")
    return found


def test_every_key_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    document = yaml.safe_load(host_facts.RETURN)
    keys = documented(document["ansible_facts"]["contains"]["sglang"]["contains"])
    for host in sorted(path.name for path in RECORDINGS.iterdir()):
        for detail in (True, False):
            result = run(capsys, recording=str(RECORDINGS / host), detail=detail)
            assert returned(result["ansible_facts"]["sglang"]) <= keys, (host, detail)


def test_every_option_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    spec: dict[str, Any] = {}

    def fake(argument_spec: dict[str, Any], supports_check_mode: bool) -> None:
        assert supports_check_mode
        spec.update(argument_spec)
        raise Stop

    monkeypatch.setattr(host_facts, "AnsibleModule", fake)
    with pytest.raises(Stop):
        host_facts.main()
    options = yaml.safe_load(host_facts.DOCUMENTATION)["options"]
    assert set(options) == set(spec)
    for name, entry in options.items():
        for key in ("type", "default", "choices", "elements"):
            assert entry.get(key) == spec[name].get(key), (name, key)
