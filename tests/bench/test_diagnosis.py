from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import to_builtins

from bench.diagnosis import Row, main, read, table, wilson


def row(mark: str, *, healthy: bool = False, confidence: str = "high") -> Row:
    details = {"victim": mark == "first"}
    return Row("zombies", healthy, 1, mark, confidence, details, "so | so", "x", 2.0, "now")


def test_hits_and_misses_are_counted_and_misses_are_shown() -> None:
    text = table([row("first"), row("first"), row("top three", confidence="medium")])
    assert "| zombies | 3 | 2 | 3 | 2 of 3 |" in text
    assert "first ≥ 95% (missed), top three 100% (met)" in text
    assert "| medium | 1 | 0 | 0% " in text
    assert "| zombies | 1 | top three | x | so \\| so |" in text


def test_no_false_accusation_proves_what_the_rule_of_three_says_and_no_more() -> None:
    text = table([row("silent", healthy=True)] * 30)
    assert "somebody accused in 0" in text
    assert "below 10% with 95 % confidence" in text


def test_false_accusations_are_told() -> None:
    text = table([row("silent", healthy=True)] * 9 + [row("accused", healthy=True)])
    assert "somebody accused in 1" in text
    assert "rule of three" not in text


def test_the_interval_of_a_share_does_not_collapse_at_its_ends() -> None:
    low, high = wilson(10, 10)
    assert (round(low, 2), high) == (0.72, 1.0)
    low, high = wilson(0, 10)
    assert (low, round(high, 2)) == (0.0, 0.28)


def test_runs_of_a_file_are_told_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(to_builtins(one)) + "\n" for one in [row("first")] * 2))
    assert read(file) == [row("first")] * 2
    assert main(["--from", str(file)]) == 0
    assert "| zombies | 2 | 2 | 2 | 2 of 2 |" in capsys.readouterr().out


def test_without_consent_it_says_so_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "--yes-break-this-machine" in capsys.readouterr().out
