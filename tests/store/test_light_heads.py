from __future__ import annotations

from pathlib import Path

import pytest

from exhume.store.heads import read_heads
from exhume.store.layout import heads_path, symbols_path
from exhume.store.light_heads import read_light_heads
from tests.store.head_maker import IN_SOFTIRQ, Hit, Log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    heads_path(tmp_path).mkdir()
    symbols_path(tmp_path).mkdir()
    path = heads_path(tmp_path) / "20231114T221320Z-1f0c2a3b-1000000.head"
    return Log(path).begin().tick(Hit(500, 0, 0, IN_SOFTIRQ))


def test_a_light_head_has_all_but_its_samples(tmp_path: Path, log: Log) -> None:
    (whole,), (light,) = read_heads(tmp_path), read_light_heads(tmp_path)
    assert (whole.sample_count, light.sample_count) == (1, 0)
    assert light.window == whole.window
    assert light.fields() == whole.fields()
    assert light.events() == whole.events()


def test_a_log_that_did_not_grow_is_not_read_twice(tmp_path: Path, log: Log) -> None:
    (first,) = read_light_heads(tmp_path)
    (again,) = read_light_heads(tmp_path)
    assert again is first
    log.tick(Hit(500, 0, 0, IN_SOFTIRQ))
    assert read_light_heads(tmp_path)[0] is not first


def test_where_nothing_is_recorded_there_is_nothing(tmp_path: Path) -> None:
    assert read_light_heads(tmp_path) == []
