# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small byte-level BPE tokenizer with a chat template, for the lab's models."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

VOCABULARY = 512
SPECIAL = (
    "<|bos|>", "<|eos|>", "<|pad|>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>",
)  # fmt: skip
# Merges are learnt from this text, word by word.
TEXT = """
a server keeps the tokens of every request in the memory of its device and when that memory is
full the oldest ones move to the memory of the host where they wait until somebody asks again
the quick answer comes from the device and the slower one from the host but both say the same
what is the capital of france the capital of france is paris how many requests fit at once please
explain how a cache works and why a longer prompt takes more time than a shorter prompt thank you
write down the names of seven rivers and of the mountains from which their water flows to the sea
count up from one two three four five six eight nine ten eleven twelve and then say hello world
weather report for tomorrow morning clouds over northern hills becoming brighter during afternoon
"""
CHAT_TEMPLATE = """\
{%- if tools %}{{ '<|system|>' + (tools | tojson) + '\\n' }}{% endif -%}
{%- for message in messages -%}
{{ '<|' + message['role'] + '|>' + (message['content'] or '') + '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif -%}
"""


def byte_letters() -> list[str]:
    """The printable character that stands for each byte in byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + len(letters) - len(printable))
    return [letters[byte] for byte in range(256)]


def learn_merges(count: int) -> list[tuple[str, str]]:
    """The most frequent pairs of neighbours in TEXT, one after another; ties by the alphabet."""
    blank = byte_letters()[ord(" ")]
    words = Counter(tuple(blank + word) for word in TEXT.split())
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += times
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = Counter({merged(word, best): times for word, times in words.items()})
    return merges


def merged(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """The word with every such pair joined."""
    joined: list[str] = []
    for part in word:
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def tokenizer() -> dict[str, object]:
    """The contents of tokenizer.json; ids are the special tokens, the bytes, the merges."""
    letters = sorted(byte_letters())
    merges = learn_merges(VOCABULARY - len(SPECIAL) - len(letters))
    tokens = [*SPECIAL, *letters, *(left + right for left, right in merges)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": token, **flags, "special": True}
            for number, token in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": {**byte_level, "use_regex": True},
        "post_processor": None,
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [list(pair) for pair in merges],
        },
    }


def write_tokenizer(path: Path) -> None:
    """Write the tokenizer's three files into a model folder."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|bos|>",
        "eos_token": "<|eos|>",
        "pad_token": "<|pad|>",
        "model_max_length": 1048576,
        "clean_up_tokenization_spaces": False,
    }
    (path / "tokenizer.json").write_text(json.dumps(tokenizer(), indent=1) + "\n")
    (path / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (path / "chat_template.jinja").write_text(CHAT_TEMPLATE)
