"""One gRPC call without arguments over a unix socket: all that the CRI is asked.

grpcio would add 20 MB on disk and more memory than the rest of the recorder; running `crictl`
costs a Go program's start every 10 s. A unary call is six HTTP/2 frames, so here they are
(RFC 9113). Header fields of the answer are not decoded: a call that fails has no message.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from exhume.errors import ParseError

TIMEOUT_SECONDS = 2.0
MAX_MESSAGE_BYTES = 16 << 20

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_INITIAL_WINDOW_SIZE = 4
_STREAM = 1


def call(path: Path, method: str) -> bytes | None:
    """The answer's message; None where the server has no such method. OSError if it is away."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(TIMEOUT_SECONDS)
        sock.connect(str(path))
        sock.sendall(request(method))
        return _answer(sock, f"{path}")


def request(method: str) -> bytes:
    """Everything we have to say, at once: the server may read it at leisure."""
    # The windows are opened wide from the start, so that no update is ever due.
    settings = struct.pack(">HI", _INITIAL_WINDOW_SIZE, MAX_MESSAGE_BYTES)
    headers = b"".join(
        _literal(name, value)
        for name, value in (
            (":method", "POST"),
            (":scheme", "http"),
            (":path", method),
            (":authority", "localhost"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        )
    )
    empty_message = b"\0\0\0\0\0"  # not compressed, 0 bytes
    return b"".join(
        (
            _PREFACE,
            _frame(_SETTINGS, 0, 0, settings),
            _frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", MAX_MESSAGE_BYTES)),
            _frame(_HEADERS, _END_HEADERS, _STREAM, headers),
            _frame(_DATA, _END_STREAM, _STREAM, empty_message),
        )
    )


def message(body: bytes, what: str) -> bytes | None:
    """The one message in the DATA of a unary answer; None if there is none."""
    if not body:
        return None
    if len(body) < 5 or body[0] != 0:
        raise ParseError(what, "answer", "an uncompressed gRPC message")
    (size,) = struct.unpack_from(">I", body, 1)
    if len(body) != 5 + size:
        raise ParseError(what, "answer", f"a gRPC message of {size} bytes")
    return body[5:]


def _answer(sock: socket.socket, what: str) -> bytes | None:
    body = bytearray()
    while True:
        length, kind, flags, stream = _head(_exactly(sock, 9))
        if length > MAX_MESSAGE_BYTES or len(body) + length > MAX_MESSAGE_BYTES:
            raise ParseError(what, "answer", f"at most {MAX_MESSAGE_BYTES} bytes")
        payload = _exactly(sock, length)
        if kind == _DATA and stream == _STREAM:
            if flags & _PADDED:
                payload = payload[1 : len(payload) - payload[0]] if payload else b""
            body += payload
        elif kind == _SETTINGS and not flags & _ACK:
            sock.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            sock.sendall(_frame(_PING, _ACK, 0, payload))
        elif kind in (_RST_STREAM, _GOAWAY):
            raise ConnectionResetError(f"{what} refused the call")
        if kind in (_DATA, _HEADERS) and stream == _STREAM and flags & _END_STREAM:
            return message(bytes(body), what)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _head(data: bytes) -> tuple[int, int, int, int]:
    kind, flags, stream = struct.unpack_from(">BBI", data, 3)
    return int.from_bytes(data[:3], "big"), kind, flags, stream & 0x7FFFFFFF


def _literal(name: str, value: str) -> bytes:
    """A header without indexing and without Huffman code (RFC 7541, 6.2.2)."""
    pieces = [b"\0"]
    for piece in (name.encode("ascii"), value.encode("ascii")):
        if len(piece) >= 127:
            raise ValueError(f"{name} is too long")
        pieces += [bytes([len(piece)]), piece]
    return b"".join(pieces)


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = sock.recv(min(size - len(data), 1 << 16))
        if not chunk:
            raise ConnectionResetError("the connection ended in the middle of an answer")
        data += chunk
    return bytes(data)
