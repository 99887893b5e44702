# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A double of a hub of models: the few endpoints that huggingface_hub asks to fetch one.

It wants a token, serves ranges, can be slow, and keeps account of the bytes that it has sent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

_CHUNK_BYTES = 16 << 10


class Hub(ThreadingHTTPServer):
    """The models of a folder, as C(lab/NAME)."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(("127.0.0.1", options.port), Handler)
        self.models: Path = options.models
        self.token = options.token_file.read_text().strip()
        self.served: Path = options.served
        self.rate_file: Path = options.rate_file

    def rate(self) -> float:
        """Bytes per second; without the file as fast as it goes."""
        return float(self.rate_file.read_text()) if self.rate_file.exists() else float("inf")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            return self.say(401, b"{}", {"X-Error-Code": "GatedRepo"}, body)
        path = unquote(urlparse(self.path).path)
        model = re.fullmatch(r"/api/models/lab/([\w.-]+)(?:/revision/[\w.-]+)?", path)
        if model:
            return self.say(200, self.describe(model[1]), {}, body)
        tree = re.fullmatch(r"/api/models/lab/([\w.-]+)/tree/[\w.-]+", path)
        if tree:
            return self.say(200, json.dumps(self.files(tree[1], "path")).encode(), {}, body)
        file = re.fullmatch(r"/lab/([\w.-]+)/resolve/[\w.-]+/([\w./-]+)", path)
        target = self.server.models / file[1] / file[2] if file else None
        if target is None or ".." in path or not target.is_file():
            return self.say(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body)
        return self.send_file(target, body)

    def describe(self, name: str) -> bytes:
        info = {
            "_id": name,
            "id": f"lab/{name}",
            "modelId": f"lab/{name}",
            "sha": hashlib.sha1(name.encode()).hexdigest(),
            "private": True,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": self.files(name, "rfilename"),
        }
        return json.dumps(info).encode()

    def files(self, name: str, key: str) -> list[dict[str, object]]:
        folder = self.server.models / name
        return [
            {
                "type": "file",
                "oid": hashlib.sha1(path.read_bytes()).hexdigest(),
                key: path.relative_to(folder).as_posix(),
                "size": path.stat().st_size,
            }
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        ]

    def send_file(self, target: Path, body: bool) -> None:
        size = target.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        end = int(wanted[2]) + 1 if wanted and wanted[2] else size
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{hashlib.sha1(target.read_bytes()).hexdigest()}"')
        self.send_header("X-Repo-Commit", hashlib.sha1(target.parent.name.encode()).hexdigest())
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if body:
            self.send_slowly(target, start, end)

    def send_slowly(self, target: Path, start: int, end: int) -> None:
        with target.open("rb") as stream:
            stream.seek(start)
            while start < end:
                chunk = stream.read(min(_CHUNK_BYTES, end - start))
                self.wfile.write(chunk)
                start += len(chunk)
                with self.server.served.open("a") as account:
                    account.write(f"{target.name} {len(chunk)}\n")
                time.sleep(len(chunk) / self.server.rate())

    def say(self, status: int, text: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if body:
            self.wfile.write(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--served", type=Path, required=True)
    parser.add_argument("--rate-file", type=Path, required=True)
    Hub(parser.parse_args()).serve_forever()


if __name__ == "__main__":
    main()
