"""``b2r recommend --serve``: the same answers on a page with sliders, on this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from bench2robust.core.errors import SpecError, UsageError
from bench2robust.evaluation.recommend import Advice, Advisor, Conditions, Question
from bench2robust.evaluation.recommend.profile import to_toml

HOST: Final = "127.0.0.1"
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
)


def open_page(advisor: Advisor, port: int) -> ThreadingHTTPServer:
    """Return a server that listens, on this machine only; port 0 takes a free one.

    Raises:
        UsageError: the port is taken, or none.
    """
    handler = type("Handler", (_Handler,), {"advisor": advisor})
    try:
        return ThreadingHTTPServer((HOST, port), handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"expected a free port, got port={port!r} ({error}); 0 takes one") from None


def serve(advisor: Advisor, port: int, tell: Callable[[str], object]) -> None:
    """Serve until interrupted.

    Args:
        advisor: who answers.
        port: where; 0 takes a free port.
        tell: is told the page's address.

    Raises:
        UsageError: as `open_page`.
    """
    with open_page(advisor, port) as server:
        tell(address(server))
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def address(server: ThreadingHTTPServer) -> str:
    """Return the page's address."""
    return f"http://{HOST}:{server.server_address[1]}/"


def question(query: Mapping[str, str], advisor: Advisor) -> Question:
    """Return the question that a query asks.

    Raises:
        SpecError: a value that cannot be.
    """
    try:
        consecutive = int(query.get("kmax", "2"))
        budget = int(query["budget"]) if query.get("budget") else advisor.evidence.nearest_budget(consecutive)
        most = float(query["max-tokens"]) if query.get("max-tokens") else None
        clean = float(query.get("clean-prob", "0.6"))
    except ValueError as error:
        raise SpecError(f"expected numbers ({error})") from None
    return Question(Conditions(clean, consecutive, budget, query.get("alternatives") == "yes"), most)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    advisor: Advisor

    def do_GET(self) -> None:
        """Answer the page, an answer, or an operator profile."""
        parts = urlsplit(self.path)
        if parts.path == "/":
            page = files(__package__).joinpath("advisor.html").read_bytes()
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page)
        elif parts.path in ("/answer", "/profile.toml"):
            self._answer(parts.path, dict(parse_qsl(parts.query)))
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"no such page\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Say nothing: the page is its own log."""

    def _answer(self, path: str, query: dict[str, str]) -> None:
        try:
            advice: Advice = self.advisor.answer(question(query, self.advisor))
        except UsageError as error:
            body = json.dumps({"error": str(error)}).encode()
            self._send(HTTPStatus.BAD_REQUEST, "application/json", body)
            return
        if path == "/profile.toml":
            self._send(HTTPStatus.OK, "application/toml; charset=utf-8", to_toml(advice).encode())
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(advice.to_dict()).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
