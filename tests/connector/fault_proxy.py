"""A proxy between client and server that does to bulk requests what real ones do now and then, on purpose."""

from __future__ import annotations

import http.client
import io
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

TIMEOUT = 30.0
_KEPT_HEADERS = ("content-type", "content-encoding", "retry-after")


@dataclass(frozen=True)
class Message:
    """A request's body or an answer."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Exchange(Protocol):
    """What a fault can do with one bulk request."""

    request: bytes

    def forward(self, body: bytes) -> Message: ...
    def answer(self, message: Message) -> None: ...
    def reset(self) -> None: ...
    def cut_off(self, message: Message) -> None: ...
    def pause(self, seconds: float) -> None: ...


Fault = Callable[[Exchange], None]
Plan = Callable[[int, bytes], Fault | None]
"""By the number of the bulk request, from 1, and its body; None lets it pass."""


def refuse(status: int, **headers: str) -> Fault:
    """The server is not asked."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: exchange.answer(Message(b"", status, named))


def reset_before(exchange: Exchange) -> None:
    """The connection breaks before the server has the request."""
    exchange.reset()


def reset_after(exchange: Exchange) -> None:
    """The server carries the request out, and its answer is lost."""
    exchange.forward(exchange.request)
    exchange.reset()


def cut_off(exchange: Exchange) -> None:
    """Half of the answer arrives."""
    exchange.cut_off(exchange.forward(exchange.request))


def slow(seconds: float) -> Fault:
    """The request is carried out at once, and answered late."""

    def fault(exchange: Exchange) -> None:
        message = exchange.forward(exchange.request)
        exchange.pause(seconds)
        exchange.answer(message)

    return fault


def reject_items(every: int, status: int = 429) -> Fault:
    """Some documents never reach the server, and the answer says so in their places."""

    def fault(exchange: Exchange) -> None:
        lines = exchange.request.splitlines(keepends=True)
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        rejected = {number for number in range(len(pairs)) if number % every == 0}
        taken = [pair for number, pair in enumerate(pairs) if number not in rejected]
        answers = iter(_items(exchange.forward(b"".join(b"".join(pair) for pair in taken)))) if taken else iter(())
        error = {"type": "rejected_execution_exception", "reason": "rejected on purpose"}
        refusal = {"index": {"status": status, "error": error}}
        items = [refusal if number in rejected else next(answers) for number in range(len(pairs))]
        content = json.dumps({"errors": True, "items": items}).encode()
        exchange.answer(Message(content, 200, {"content-type": "application/json"}))

    return fault


def _items(message: Message) -> list[Any]:
    items: list[Any] = json.loads(message.body)["items"]
    return items


class FaultProxy:
    """Listens on loopback. Requests that are no bulk requests pass untouched."""

    def __init__(self, server: str, plan: Plan) -> None:
        self.server, self.plan = urlsplit(server), plan
        self.closing = threading.Event()
        self.sizes: list[int] = []
        """Bytes of each bulk request."""
        self.faults = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fault_for(self, body: bytes) -> Fault | None:
        with self._lock:
            self.sizes.append(len(body))
            fault = self.plan(len(self.sizes), body)
            self.faults += fault is not None
        return fault

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"proxy": self})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT
    proxy: FaultProxy

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        fault = self.proxy.fault_for(body) if urlsplit(self.path).path.endswith("/_bulk") else None
        exchange = _Exchange(self, body)
        if fault is None:
            exchange.answer(exchange.forward(body))
        else:
            fault(exchange)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815  # the names that http.server looks for

    def log_message(self, *_: Any) -> None:
        """Tests count; they do not read logs."""


class _Exchange:
    def __init__(self, handler: _Handler, request: bytes) -> None:
        self._handler, self.request = handler, request

    def forward(self, body: bytes) -> Message:
        server = self._handler.proxy.server
        connection = http.client.HTTPConnection(server.hostname or "", server.port, timeout=TIMEOUT)
        headers = {"content-type": self._handler.headers.get("content-type", "application/json")}
        try:
            connection.request(self._handler.command, self._handler.path, body, headers)
            response = connection.getresponse()
            kept = {name: value for name, value in response.getheaders() if name.lower() in _KEPT_HEADERS}
            return Message(response.read(), response.status, kept)
        finally:
            connection.close()

    def answer(self, message: Message) -> None:
        self._send(message, message.body)

    def cut_off(self, message: Message) -> None:
        self._send(message, message.body[: len(message.body) // 2])
        self.reset()

    def reset(self) -> None:
        """RST, not FIN: the client learns that the connection broke, and nothing else."""
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._handler.close_connection = True
        self._handler.wfile = io.BytesIO()  # http.server would flush into the closed one
        connection.close()

    def pause(self, seconds: float) -> None:
        self._handler.proxy.closing.wait(seconds)

    def _send(self, message: Message, sent: bytes) -> None:
        try:
            self._handler.send_response(message.status)
            for name, value in message.headers.items():
                self._handler.send_header(name, value)
            self._handler.send_header("content-length", str(len(message.body)))
            self._handler.end_headers()
            self._handler.wfile.write(sent)
        except OSError:
            self._handler.close_connection = True  # the client did not wait


@contextmanager
def fault_proxy(server: str, plan: Plan) -> Iterator[FaultProxy]:
    proxy = FaultProxy(server, plan)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
