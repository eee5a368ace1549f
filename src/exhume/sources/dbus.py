"""The few D-Bus calls that systemd is asked, over its private socket or the system bus.

jeepney does the wire format. It is pure Python and without types, so it stays behind this module.
"""

from __future__ import annotations

import socket
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import Struct

from exhume.errors import ExhumeError

TIMEOUT_SECONDS = 2.0
_MAX_REPLY_BYTES = 16 << 20


class DBusError(ExhumeError):
    """The other side said no, or something that is no answer."""


class Connection(Struct):
    """One caller, one call at a time. Any OSError or DBusError means: close it and open another."""

    _socket: socket.socket
    _parser: Any
    _serial: int = 0

    @staticmethod
    def open(path: Path, *, is_bus: bool) -> Connection:
        """`is_bus` is False for a peer such as /run/systemd/private: nobody to say hello to."""
        blocking = import_module("jeepney.io.blocking")
        try:
            sock: socket.socket = blocking.prep_socket(str(path), timeout=TIMEOUT_SECONDS)
        except OSError:
            raise
        except Exception as error:  # jeepney has no base class for a handshake gone wrong
            raise DBusError(f"D-Bus handshake with {path} made no sense: {error!r}") from error
        sock.settimeout(TIMEOUT_SECONDS)
        connection = Connection(sock, import_module("jeepney").Parser())
        if is_bus:
            bus = "org.freedesktop.DBus"
            connection.call(bus, "/org/freedesktop/DBus", bus, "Hello")
        return connection

    def call(
        self, name: str, path: str, interface: str, method: str, signature: str = "", *args: object
    ) -> Any:
        """The body of the answer as jeepney unpacks it; a variant is a pair (signature, value)."""
        jeepney = import_module("jeepney")
        address = jeepney.DBusAddress(path, bus_name=name, interface=interface)
        message = jeepney.new_method_call(address, method, signature or None, args)
        self._serial += 1
        self._socket.sendall(message.serialise(self._serial))
        received = 0
        while True:
            try:
                reply = self._parser.get_next_message()
            except Exception as error:  # jeepney has no base class for bad bytes
                raise DBusError(f"D-Bus answer to {method} made no sense: {error!r}") from error
            if reply is None:
                data = self._socket.recv(1 << 16)
                received += len(data)
                if not data:
                    raise ConnectionResetError(f"the D-Bus connection ended during {method}")
                if received > _MAX_REPLY_BYTES:
                    raise DBusError(f"D-Bus answer to {method} is over {_MAX_REPLY_BYTES} bytes")
                self._parser.add_data(data)
                continue
            if reply.header.fields.get(jeepney.HeaderFields.reply_serial) != self._serial:
                continue  # a signal, or the late answer to a call that timed out
            if reply.header.message_type is not jeepney.MessageType.method_return:
                raise DBusError(f"D-Bus call {method} failed: {reply.body}")
            return reply.body

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
