"""A unary gRPC call."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources import grpc
from tests.sources.made_cri import answer, frame, serving


def test_a_message_in_pieces_with_padding_and_pings_between_comes_back_whole(
    tmp_path: Path,
) -> None:
    message = bytes(range(256)) * 40
    with serving(tmp_path / "s", [answer(message)]) as received:
        assert grpc.call(tmp_path / "s", "/a.B/C") == message
    assert received[0].startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert b"/a.B/C" in received[0]


def test_a_method_that_is_not_there_has_no_message(tmp_path: Path) -> None:
    trailers_only = frame(4, 0, 0, b"") + frame(1, 5, 1, b"\x88")
    with serving(tmp_path / "s", [trailers_only]):
        assert grpc.call(tmp_path / "s", "/a.B/C") is None


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", frame(7, 0, 0, b"no")])
def test_a_server_that_hangs_up_or_refuses_is_an_os_error_or_parse_error(
    tmp_path: Path, reply: bytes
) -> None:
    with serving(tmp_path / "s", [reply]), pytest.raises((OSError, ParseError)):
        grpc.call(tmp_path / "s", "/a.B/C")


def test_nobody_listening_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        grpc.call(tmp_path / "nobody", "/a.B/C")


def test_a_server_that_never_answers_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc, "TIMEOUT_SECONDS", 0.1)
    with serving(tmp_path / "s", []), pytest.raises(TimeoutError):
        grpc.call(tmp_path / "s", "/a.B/C")


@given(st.binary(max_size=50))
def test_garbage_is_a_parse_error_or_well_formed(body: bytes) -> None:
    try:
        grpc.message(body, "test")
    except ParseError:
        assert body
