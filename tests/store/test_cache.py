from __future__ import annotations

import pytest

from exhume.store.cache import Cache


def test_what_was_asked_for_last_stays_and_the_bytes_keep_their_limit() -> None:
    cache = Cache(max_bytes=10)
    loads: list[str] = []

    def get(key: str, size: int = 4) -> str:
        def load() -> str:
            loads.append(key)
            return key.upper()

        return cache.get(key, load, lambda _: size)

    assert [get("a"), get("b"), get("a"), get("c")] == ["A", "B", "A", "C"]
    assert loads == ["a", "b", "c"]
    assert "a" in cache
    assert "b" not in cache
    assert cache.held_bytes == 8
    get("big", size=100)
    assert (len(cache), cache.held_bytes) == (1, 100)
    get("d")
    assert (len(cache), cache.held_bytes) == (1, 4)


def test_what_failed_to_load_is_not_kept() -> None:
    cache = Cache(max_bytes=10)

    def fail() -> str:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        cache.get("a", fail, len)
    assert cache.get("a", lambda: "now", len) == "now"
