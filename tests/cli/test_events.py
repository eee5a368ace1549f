from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from exhume.cli import events as command
from exhume.cli.events import Wanted, follow
from exhume.cli.main import main
from exhume.model.event import Event
from exhume.model.fields import EVENT_KINDS
from exhume.model.segment import SegmentData
from exhume.model.window import Window
from exhume.store.memory import MemorySegment
from exhume.store.recording import Recording
from tests.cli.ask import Ask
from tests.cli.story import BURST_AT, START_WALL, STARTS
from tests.store.make import SECOND, START, T0, by_hand


@pytest.fixture
def ask(story: str, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(story, capsys)


def test_what_matters_is_on_one_screen(ask: Ask) -> None:
    text = ask("events")
    assert len(text.splitlines()) < 40
    said = " ".join(text.split())
    assert "TX q 5 is paused for" in said
    assert "ActorDiedError" in said
    assert f"20:10:00 20:29:50 {STARTS} unit-start ecs.service auto-restart" in said
    assert "420 execs: cc1 300 · amazon-ecs-init 120" in said


def test_json_lists_each_event_and_counts_the_many(ask: Ask) -> None:
    found = ask.json("events")
    kinds = [event["kind"] for event in found["events"]]
    assert kinds.count("unit-start") == STARTS + 1
    assert "exec" not in kinds
    assert {"kind": "exec", "name": "cc1", "count": 300} in found["counted"]
    times = [event["time"] for event in found["events"]]
    assert times == sorted(times)


def test_execs_are_listed_when_asked_for(ask: Ask) -> None:
    found = ask.json("events --kind exec --subject amazon-ecs-*")
    assert len(found["events"]) == STARTS
    assert found["counted"] == []
    text = ask("events --kind exec")
    assert "by gcc" in text
    assert "like ones in 2 lines" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--signature ena.*", 2),
        ("--signature ena.tx_paused", 1),
        ("--grep PAUSED --grep napi", 1),
        ("--grep nonsense", 0),
        ("--subject eth0", 2),
        ("--core 2", 2),
        ("--core 0-1,3", 0),
        ("--kind job-log --kind rate", 2),
        ("--kind exec --pid 9003", 1),
    ],
)
def test_filters_choose(ask: Ask, words: str, expected: int) -> None:
    assert len(ask.json(f"events {words}")["events"]) == expected


def test_all_lists_each(ask: Ask) -> None:
    few, every = ask("events --kind unit-failed"), ask("events --kind unit-failed --all")
    assert few.count("failed with result") == 1
    assert every.count("failed with result") == STARTS


def test_lines_from_before_the_recording_are_found_by_their_time(ask: Ask) -> None:
    before = f"--from {START_WALL - 3600} --to {START_WALL - 60}"
    assert "replayed from long before" in ask(f"events {before}")
    assert "nothing recorded between" in ask(
        f"events --at {START_WALL - 90_000} --for 1m", expect=65
    )


def test_a_quiet_window_says_so(ask: Ask) -> None:
    assert "Nothing happened that anybody told of." in ask(
        f"events --at {START_WALL + BURST_AT + 3} --for 500ms"
    )


def test_an_unknown_kind_is_answered_with_the_nearest(ask: Ask) -> None:
    error = ask("events --kind kernellog", expect=64)
    assert "did you mean kernel-log?" in error
    assert all(kind.id in error for kind in EVENT_KINDS)


def test_follow_goes_on_from_now(ask: Ask) -> None:
    assert "--follow goes on from now" in ask("events --follow --at 03:14", expect=64)


class Live:
    """A recording that grows, and the clock that goes with it."""

    def __init__(self) -> None:
        self.second = 10.0
        self.events: list[Event] = [self._event(1, "before")]
        self.recording = Recording(Path("/nonexistent"), lambda _: [self._view()], 1 << 20)

    @staticmethod
    def _event(second: float, text: str, kind: str = "kernel-log") -> Event:
        return Event(START + round(second * SECOND), kind, "x", text)

    def _view(self) -> MemorySegment:
        data: SegmentData = by_hand([], events=tuple(self.events), seconds=self.second)
        return MemorySegment(data)

    def sleep(self, _: float) -> None:
        self.second += 1
        if self.second == 12:
            self.events.append(self._event(11.5, "new"))
            self.events.append(self._event(11.5, "filtered", "gap"))
        if self.second == 13:
            self.events.append(self._event(3, "told late"))
        if self.second > 15:
            raise KeyboardInterrupt

    def now_ns(self) -> int:
        return T0 + round(self.second * SECOND)


def test_following_shows_each_new_event_once_and_late_ones_too() -> None:
    live = Live()
    window = Window(T0, T0 + 10 * SECOND)
    seen = command.ask(live.recording, window, Wanted()).events
    assert [event.text for event in seen] == ["before"]
    got: list[str] = []
    wanted = Wanted(kinds=("kernel-log",))
    new = follow(live.recording, wanted, seen, window, now_ns=live.now_ns, sleep=live.sleep)
    with suppress(KeyboardInterrupt):
        for fresh in new:
            got += [event.text for event in fresh]
    assert live.second > 15
    assert got == ["new", "told late"]


def test_ctrl_c_ends_following_well(
    story: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object, **more: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "follow", stop)
    words = ["events", "--follow", "--from", str(START_WALL), "--data", story, "--utc"]
    assert main(words) == 0
    assert "TX q 5" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all("kind" in json.loads(line) for line in lines)


def test_hostile_words_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from exhume.store.writer import write_segment

    hostile = Event(START + SECOND, "kernel-log", "\x1b]0;x\x07", "\x1b[31mred\x1b[0m\nline")
    write_segment(tmp_path, by_hand([], events=(hostile,)))
    text = Ask(str(tmp_path), capsys)(f"events --at {START_WALL} --for 10s")
    assert "\x1b" not in text
    assert "\\x1b[31mred" in text
    assert np.array_equal([line.isprintable() for line in text.splitlines()], [True] * 4)


def test_where_nothing_fits_the_filter_that_is_all_that_is_said(ask: Ask) -> None:
    for words in ("--signature zzz*", "--kind log-lost", "--pid 99999"):
        said = ask(f"events {words}")
        assert "No event of this window fits the filter." in said
        assert "Nothing happened" not in said
    assert ask("events --core 777", expect=64).startswith("exhume: no core 777\n")
