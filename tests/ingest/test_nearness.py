from __future__ import annotations

from pathlib import Path

from exhume.ingest.nearness import nearest, nearest_first


def test_what_lies_in_the_captures_own_folder_is_nearest() -> None:
    paths = [Path(one) for one in ("a/x", "b/deep/x", "b/x", "x")]
    found = nearest_first(paths, Path("b/perf.data"))
    assert found == [Path(one) for one in ("b/x", "b/deep/x", "x", "a/x")]


def test_who_shares_a_folder_is_nearer_than_who_is_reached_in_as_many_steps() -> None:
    paths = [Path("night/x"), Path("night/node/sys/x")]
    found = nearest_first(paths, Path("night/node/perf/perf.data"))
    assert found == [Path("night/node/sys/x"), Path("night/x")]


def test_a_name_without_a_folder_lies_where_we_are() -> None:
    here = Path.cwd() / "perf.data"
    assert nearest_first([Path("elsewhere/x"), Path("x")], here)[0] == Path("x")


def test_those_that_are_equally_near_are_all_nearest() -> None:
    paths = [Path("a/x"), Path("b/x"), Path("b/deep/x")]
    assert nearest(paths, Path("perf.data")) == [Path("a/x"), Path("b/x")]
    assert nearest([], Path("perf.data")) == []
