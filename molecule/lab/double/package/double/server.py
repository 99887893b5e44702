# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double's HTTP server: the version's endpoints and its rules about keys."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import lines
from .args import VERSION
from .engine import Answer, Engine, TooLong

DEFAULT_MAX_TOKENS = 16
ADMIN_PATHS = ("/flush_cache", "/abort_request")
Body = dict[str, Any]
# The first argument is a Handler, which is defined below.
Routes = dict[tuple[str, str], Callable[[Any, Body], None]]


class Server(ThreadingHTTPServer):
    """Holds the engine; raises OSError where the port is taken."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        args = engine.start.args
        super().__init__((args.host, args.port), Handler)

    @property
    def routes(self) -> Routes:
        """What this version answers to."""
        found: Routes = {
            ("GET", "/health"): Handler.health,
            ("GET", "/health_generate"): Handler.health,
            ("GET", "/v1/models"): Handler.models,
            ("GET", "/get_model_info"): Handler.model_info,
            ("GET", "/get_server_info"): Handler.server_info,
            ("GET", "/flush_cache"): Handler.flush_cache,
            ("POST", "/flush_cache"): Handler.flush_cache,
            ("POST", "/abort_request"): Handler.abort_request,
            ("POST", "/generate"): Handler.generate,
            ("POST", "/v1/completions"): Handler.completion,
            ("POST", "/v1/chat/completions"): Handler.chat,
        }
        if VERSION >= "0.5.6":
            found["GET", "/model_info"] = Handler.model_info
            found["GET", "/server_info"] = Handler.server_info
        if VERSION >= "0.5.8":
            found["GET", "/v1/loads"] = Handler.loads
        if VERSION < "0.5.21":
            found["GET", "/get_load"] = Handler.old_loads
        if VERSION >= "0.5.20":
            found["GET", "/ready"] = Handler.health
        if self.engine.start.args.enable_metrics:
            found["GET", "/metrics"] = Handler.metrics
        return found


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer a GET."""
        self._route()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._route()

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Write the access line as uvicorn does."""
        host, port = self.client_address[:2]
        status = HTTPStatus(int(code))
        request = f'{host}:{port} - "{self.requestline}" {status.value} {status.phrase}'
        lines.say(f"INFO:     {request}")

    def _route(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if not self._authorized(path):
            return self._json({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
        route = self.server.routes.get((self.command, path))
        if route is None:
            return self._json({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)
        try:
            route(self, json.loads(content) if content else {})
        except (TooLong, ValueError) as error:
            body = {
                "object": "error",
                "message": str(error),
                "type": "BadRequestError",
                "code": 400,
            }
            self._json(body, HTTPStatus.BAD_REQUEST)

    def _authorized(self, path: str) -> bool:
        open_paths = ("/health", "/metrics", *(("/ready",) if VERSION >= "0.5.20" else ()))
        if path.startswith(open_paths):
            return True
        args = self.server.engine.start.args
        key = args.api_key
        if VERSION >= "0.5.8" and path in ADMIN_PATHS:
            key = args.admin_api_key or key
        return not key or self.headers.get("Authorization") == f"Bearer {key}"

    def health(self, _body: Body) -> None:
        healthy = self.server.engine.healthy
        self._send(b"", "text/plain", HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE)

    def models(self, _body: Body) -> None:
        start = self.server.engine.start
        card = {
            "id": start.args.served_model_name,
            "object": "model",
            "owned_by": "sglang",
            "root": start.args.served_model_name,
            "max_model_len": start.sizes.context_tokens,
        }
        self._json({"object": "list", "data": [card]})

    def model_info(self, _body: Body) -> None:
        start = self.server.engine.start
        path = start.args.model_path
        self._json({"model_path": path, "tokenizer_path": path, "is_generation": True})

    def server_info(self, _body: Body) -> None:
        self._json(self.server.engine.server_info())

    def loads(self, _body: Body) -> None:
        self._json(self.server.engine.loads())

    def old_loads(self, _body: Body) -> None:
        self._json(self.server.engine.old_loads())

    def metrics(self, _body: Body) -> None:
        self._send(self.server.engine.metrics().encode(), "text/plain; version=0.0.4")

    def flush_cache(self, _body: Body) -> None:
        text = (
            "Cache flushed.\nPlease check backend logs for more details. (When there are running "
            "or waiting requests, the operation will not be performed.)\n"
        )
        flushed = self.server.engine.flush()
        self._send(
            text.encode(), "text/plain", HTTPStatus.OK if flushed else HTTPStatus.BAD_REQUEST
        )

    def abort_request(self, body: Body) -> None:
        if body.get("abort_all"):
            self.server.engine.abort_all()
        self._send(b"", "text/plain")

    def generate(self, body: Body) -> None:
        limit = body.get("sampling_params", {}).get("max_new_tokens", DEFAULT_MAX_TOKENS)
        answer = self.server.engine.generate(str(body["text"]), limit)
        meta = {
            "id": answer.request_id,
            "finish_reason": {"type": answer.finish_reason, "length": answer.completion_tokens},
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "cached_tokens": answer.cached.tokens,
        }
        if VERSION >= "0.5.10":
            meta["cached_tokens_details"] = asdict(answer.cached) if answer.cached.tokens else None
        accept_length = self.server.engine.accept_length(answer)
        if accept_length is not None:
            meta["spec_accept_length"] = accept_length
        self._json({"text": answer.text, "meta_info": meta})

    def completion(self, body: Body) -> None:
        limit = body.get("max_tokens", DEFAULT_MAX_TOKENS)
        answer = self.server.engine.generate(str(body["prompt"]), limit)
        choice = {"index": 0, "text": answer.text, "finish_reason": answer.finish_reason}
        self._json(self._envelope("text_completion", answer, choice))

    def chat(self, body: Body) -> None:
        messages = body.get("messages")
        if not messages:
            raise ValueError("Messages cannot be empty.")
        prompt = "".join(f"<{m['role']}>{m.get('content')}\n" for m in messages)
        tools = body.get("tools") if self.server.engine.start.args.tool_call_parser else None
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_MAX_TOKENS
        answer = self.server.engine.generate(prompt, limit)
        message: Body = {"role": "assistant", "content": answer.text, "reasoning_content": None}
        reason = answer.finish_reason
        if tools and body.get("tool_choice") != "none":
            message.update(content=None, tool_calls=[_tool_call(tools[0]["function"])])
            reason = "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        envelope = self._envelope("chat.completion", answer, choice)
        if not body.get("stream"):
            return self._json(envelope)
        choice["delta"] = choice.pop("message")
        envelope.update(object="chat.completion.chunk")
        self._send(
            f"data: {json.dumps(envelope)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
        )

    def _envelope(self, kind: str, answer: Answer, choice: Body) -> Body:
        args = self.server.engine.start.args
        usage: Body = {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
            "prompt_tokens_details": None,
        }
        if args.enable_cache_report:
            usage["prompt_tokens_details"] = {"cached_tokens": answer.cached.tokens}
        return {
            "id": answer.request_id,
            "object": kind,
            "created": int(time.time()),
            "model": args.served_model_name,
            "choices": [choice],
            "usage": usage,
        }

    def _json(self, body: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(body).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _tool_call(function: Body) -> Body:
    """Call a tool with a plausible value for each required parameter."""
    parameters = function.get("parameters", {})
    samples = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    arguments = {
        name: samples.get(parameters.get("properties", {}).get(name, {}).get("type"), "amber")
        for name in parameters.get("required", [])
    }
    call = {"name": function["name"], "arguments": json.dumps(arguments)}
    return {
        "id": f"functions.{function['name']}:0",
        "type": "function",
        "index": 0,
        "function": call,
    }
