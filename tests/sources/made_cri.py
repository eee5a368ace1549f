"""A CRI runtime that answers one call: the other side of sources.grpc, written independently."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*data, value))


def text(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def container(
    identity: str, name: str, image: str, state: int, attempt: int, labels: dict[str, str]
) -> bytes:
    metadata = text(1, name) + (integer(2, attempt) if attempt else b"")
    body = text(1, identity) + text(2, "sandbox") + text(3, metadata) + text(4, text(1, image))
    if state:  # proto3 leaves zeros out
        body += integer(6, state)
    body += integer(7, 1_794_777_657_000_000_000)
    for key, value in labels.items():
        body += text(8, text(1, key) + text(2, value))
    return text(1, body)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def answer(message: bytes, piece: int = 7) -> bytes:
    """Settings, a ping, headers, the message in several frames, one of them padded, trailers."""
    data = b"\0" + struct.pack(">I", len(message)) + message
    frames = [frame(4, 0, 0, b""), frame(4, 1, 0, b""), frame(6, 0, 0, b"12345678")]
    frames.append(frame(1, 4, 1, b"\x88"))
    frames.append(frame(0, 8, 1, b"\x03" + data[:piece] + b"\0\0\0"))
    frames += [frame(0, 0, 1, data[at : at + 100]) for at in range(piece, len(data), 100)]
    frames.append(frame(1, 5, 1, b""))
    return b"".join(frames)


@contextmanager
def serving(path: Path, replies: list[bytes]) -> Iterator[list[bytes]]:
    """Each connection gets the next reply; what it sent is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(5)

        def serve() -> None:
            for reply in replies:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    received.append(connection.recv(1 << 16))
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield received
    thread.join(5)
