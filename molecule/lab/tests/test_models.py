# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model folders: well-formed files, and the sizes that the tests of the collection rely on."""

from __future__ import annotations

import json
import math
import struct
from array import array
from pathlib import Path
from typing import Any

import models
import pytest
from tokenizer import SPECIAL, VOCABULARY, byte_letters, tokenizer

SIZES = {"BF16": 2, "I64": 8, "U8": 1}


def header(path: Path) -> dict[str, Any]:
    """The tensors of a safetensors file; checks that they fill the file exactly."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        found: dict[str, Any] = json.loads(file.read(length))
    found.pop("__metadata__")
    at = 0
    for tensor in found.values():
        assert tensor["data_offsets"][0] == at
        at += math.prod(tensor["shape"]) * SIZES[tensor["dtype"]]
        assert tensor["data_offsets"][1] == at
    assert path.stat().st_size == 8 + length + at
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    for name, write in models.MODELS.items():
        write(path / name)
    return path


@pytest.mark.parametrize("name", ["tiny-mla", "kimi-k2.5"])
def test_index_names_every_tensor_where_it_is(folder: Path, name: str) -> None:
    index = json.loads((folder / name / "model.safetensors.index.json").read_text())
    files = {file: header(folder / name / file) for file in set(index["weight_map"].values())}
    assert {t for tensors in files.values() for t in tensors} == set(index["weight_map"])
    assert all(tensor in files[file] for tensor, file in index["weight_map"].items())
    sizes = [max(t["data_offsets"][1] for t in tensors.values()) for tensors in files.values()]
    assert sum(sizes) == index["metadata"]["total_size"]


@pytest.mark.parametrize("name", ["tiny-gqa", "tiny-eagle/target", "tiny-eagle/draft"])
def test_one_file_of_weights(folder: Path, name: str) -> None:
    config = json.loads((folder / name / "config.json").read_text())
    tensors = header(folder / name / "model.safetensors")
    assert tensors["lm_head.weight"]["shape"] == [config["vocab_size"], config["hidden_size"]]


def test_big_models_take_no_room(folder: Path) -> None:
    for name, total in (("kimi-k2.5", 547e9), ("kimi-k2.5-eagle3", 6e9)):
        stats = [path.stat() for path in (folder / name).glob("*.safetensors")]
        assert sum(stat.st_size for stat in stats) == pytest.approx(total, rel=1e-6)
        assert sum(stat.st_blocks * 512 for stat in stats) < 1e6


def test_kimi_has_the_headline_geometry(folder: Path) -> None:
    config = json.loads((folder / "kimi-k2.5" / "config.json").read_text())
    text = config["text_config"]
    latent_bytes = (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * text["num_hidden_layers"] * 2
    assert latent_bytes == 70_272
    assert text["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"] == 4
    assert len(list((folder / "kimi-k2.5").glob("*.safetensors"))) == 64
    draft = json.loads((folder / "kimi-k2.5-eagle3" / "config.json").read_text())
    heads_per_rank = draft["num_key_value_heads"] // 8
    assert 2 * heads_per_rank * draft["head_dim"] * draft["num_hidden_layers"] * 2 == 4096


def test_weights_are_the_same_every_time() -> None:
    first, second = (models.llama_weights(1, seed=9).tensors for _index in range(2))
    assert first == second
    assert first != models.llama_weights(1, seed=8).tensors


def test_bfloat16_rounds_to_nearest_even() -> None:
    # bfloat16 keeps 7 bits of the fraction: 1 + 2**-8 lies half way and goes down to 1.
    values = array("f", [1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8, -2.5])
    assert struct.unpack("<4H", models.bfloat16(values)) == (0x3F80, 0x3F80, 0x3F82, 0xC020)


def test_tokenizer_knows_every_byte_and_its_merges() -> None:
    made: Any = tokenizer()
    vocabulary, merges = made["model"]["vocab"], made["model"]["merges"]
    assert sorted(vocabulary.values()) == list(range(VOCABULARY))
    assert set(byte_letters()) <= set(vocabulary)
    assert len(set(byte_letters())) == 256
    assert all(left + right in vocabulary for left, right in merges)
    assert [vocabulary[token] for token in SPECIAL] == list(range(len(SPECIAL)))
