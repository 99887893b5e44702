# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The weight files of a model folder: which there must be, whether they are whole, where they lie.

This module util is private to the llmops.sglang collection.

Of a weight file only the header and a few blocks are read, so this takes a second, not minutes.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing as t

from .shard import Shard
from .source import Source, parse_json

Facts = dict[str, t.Any]

MAX_NAMED = 5
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
# What else a server reads when it starts: configuration, tokenizer, chat template, own code.
_READ_TOO = (".json", ".jinja", ".model", ".tiktoken", ".py")
_READ_TOO_NAMES = ("merges.txt", "vocab.txt")
# What hub clients, rsync and other fetchers call a file that they have not finished.
_UNFINISHED = re.compile(r"\.(?:incomplete|part|partial|aria2|tmp)$|^\..+\.\w{6}$")
# Where the hub's client keeps the downloads of a plain folder.
_DOWNLOADS = ".cache/huggingface/download"
_NETWORK = re.compile(
    r"(?:nfs4?|cifs|smb3|smbfs|lustre|ceph|glusterfs|beegfs|gpfs|wekafs|panfs|orangefs|afs|9p"
    r"|virtiofs|ocfs2|gfs2|fuse\..+)"
)
# File systems in user space that have their data on this host.
_LOCAL_FUSE = frozenset(("fuse.mergerfs", "fuse.bindfs", "fuse.fuse-overlayfs", "fuse.unionfs"))


def is_loaded(name: str) -> bool:
    """Whether a server reads a file of this name when it starts; of a README it does not."""
    return name.endswith((*_WEIGHTS, *_READ_TOO)) or name in _READ_TOO_NAMES


def is_single_file(source: Source, path: str) -> bool:
    """Whether a model is one GGUF file instead of a folder."""
    return path.endswith(".gguf") and source.read_head(path, 0, 1) is not None


def read_weights(source: Source, folder: str, config: str | None) -> Facts:
    """The keys of a model's facts that tell of its files. C(folder) may be a GGUF file too.

    C(config) is the text of its configuration; a folder without one has no fingerprint.
    """
    single = is_single_file(source, folder)
    home, _slash, name = folder.rpartition("/") if single else (folder, "", "")
    sizes = source.sizes(home)
    index = _index(source, home)
    wanted, declared = ([name], None) if single else _wanted(parse_json(index), sizes or {})
    shards = {
        name: source.shard(f"{home}/{name}")
        for name in sorted(sizes or {})
        if (name in wanted if single else is_loaded(name))
    }
    storage = source.storage(home) if home else None
    return {
        **_completeness(wanted, declared, sizes, shards),
        **_unfinished(source, home, (storage or {}).get("real_path"), sizes or {}),
        "storage": _storage(source, storage),
        "fingerprint": (
            _fingerprint(config or "", index or "", sizes, shards)
            if single or config is not None
            else None
        ),
    }


def _index(source: Source, folder: str) -> str | None:
    texts = (source.read_text(f"{folder}/{name}") for name in INDEXES)
    return next((text for text in texts if text is not None), None)


def _wanted(index: t.Any, there: dict[str, int]) -> tuple[list[str], int | None]:
    """The shards that the index names, and the bytes it promises; without one what is there."""
    if not isinstance(index, dict):
        return _loose(there), None
    names, metadata = index.get("weight_map"), index.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    shards = sorted({str(name) for name in names.values()}) if isinstance(names, dict) else []
    return shards or _loose(there), int(size) if isinstance(size, (int, float)) else None


def _loose(there: dict[str, int]) -> list[str]:
    """The weight files of a folder without an index, as the engine picks them."""
    for ending in _WEIGHTS:
        names = [
            name
            for name in sorted(there)
            if name.endswith(ending) and not name.startswith("consolidated")
        ]
        if names:
            return names
    return []


def _completeness(
    wanted: list[str],
    declared: int | None,
    sizes: dict[str, int] | None,
    shards: dict[str, Shard | None],
) -> Facts:
    """What there must be against what there is."""
    there = sizes or {}
    missing = [name for name in wanted if name not in there] if sizes is not None else []
    whole = sizes is not None and wanted and not missing
    looked = [(name, shards.get(name), there[name]) for name in wanted if name in there]
    problems = [(name, _problem(shard, size)) for name, shard, size in looked]
    damaged = [f"{name}: {problem}" for name, problem in problems if problem]
    return {
        "weights_bytes": sum(there[name] for name in wanted) if whole else declared,
        "weights_files": len(wanted),
        "missing_files": missing[:MAX_NAMED],
        "missing_count": len(missing),
        "truncated_files": [
            name for name, shard, size in looked if shard and (shard.promised_bytes or 0) > size
        ][:MAX_NAMED],
        "damaged_files": damaged[:MAX_NAMED],
        "damaged_count": len(damaged),
    }


def _problem(shard: Shard | None, size: int) -> str | None:
    """Why the engine will not load a file, in words; None when nothing speaks against it."""
    if shard is None or shard.problem:
        return shard.problem if shard else None
    promised = shard.promised_bytes
    if promised is None or promised == size:
        return None
    if promised > size:
        return f"cut short: {size} of {promised} bytes"
    return f"{size - promised} bytes longer than its header tells"


def _unfinished(source: Source, folder: str, real_path: str | None, sizes: dict[str, int]) -> Facts:
    """Downloads and copies that have not ended, or were given up."""
    places = {folder: list(sizes), f"{folder}/{_DOWNLOADS}": None}
    # In the hub's cache a snapshot has links, and the files themselves are beside it.
    model, snapshot, _revision = (real_path or "").partition("/snapshots/")
    if snapshot:
        places[f"{model}/blobs"] = None
    found = sorted(
        name
        for place, names in places.items()
        for name in (source.listing(place, _UNFINISHED.pattern) if names is None else names)
        if _UNFINISHED.search(name)
    )
    return {"unfinished_files": found[:MAX_NAMED], "unfinished_count": len(found)}


def _storage(source: Source, storage: Facts | None) -> Facts | None:
    """The file system that holds the folder, and its room."""
    if storage is None:
        return None
    mount, kind = _mount(source.read_text("/proc/mounts") or "", str(storage["real_path"]))
    return {
        **storage,
        "mount": mount,
        "filesystem": kind,
        "network": None if kind is None else _is_network(kind),
    }


def _mount(mounts: str, path: str) -> tuple[str | None, str | None]:
    """Mount point and type of the file system that holds a path: the longest prefix, the last
    of those mounted upon each other."""
    best: tuple[str | None, str | None] = (None, None)
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0] or ""):
            best = (point, fields[2])
    return best


def _is_network(kind: str) -> bool:
    return kind not in _LOCAL_FUSE and _NETWORK.fullmatch(kind) is not None


def _fingerprint(
    config: str, index: str, sizes: dict[str, int] | None, shards: dict[str, Shard | None]
) -> str:
    """Names what a server loads from the folder.

    Another configuration, tokenizer, index or weight gives another word, a copy of the same gives
    the same: so names, lengths and contents count, times and what a server never reads do not.
    """
    files = [
        (name, size, getattr(shards.get(name), "digest", None))
        for name, size in sorted((sizes or {}).items())
        if name in shards
    ]
    return hashlib.sha256(f"{config}\0{index}\0{json.dumps(files)}".encode()).hexdigest()[:16]
