"""Cases on /metrics of a node that nobody looks at: when they are made, and how long told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from exhume.errors import ExhumeError
from exhume.model.case import Actions, Case, Party, RootCause, Symptom, Verdict
from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.web.diagnosis import Diagnoses
from exhume.web.metrics import Scraper
from exhume.web.metrics_cases import Watch
from tests.cli.story import record
from tests.store.live import SECOND, WALL_NS
from tests.web.test_metrics_lookout import line, second

MINUTE = 60 * SECOND


class Hands(Struct):
    """A clock, and a diagnosis that takes as long as it is told to."""

    now_ns: int = 0
    takes_ns: int = SECOND
    spent: float = 0.0
    fails: bool = False
    asked: list[Window] = field(default_factory=list)

    def monotonic_ns(self) -> int:
        return self.now_ns

    boottime_ns = monotonic_ns

    def wall_ns(self) -> int:
        return WALL_NS + self.now_ns

    def sleep_until(self, monotonic_ns: int) -> None:
        raise AssertionError("nobody sleeps here")

    def look(self, window: Window) -> Sequence[Case]:
        self.asked.append(window)
        self.now_ns += 5 * self.takes_ns  # others go first
        self.spent += self.takes_ns / 1e9
        if self.fails:
            raise ExhumeError("no recording")
        return [case_at(window.end_ns)]


def case_at(wall_ns: int) -> Case:
    symptom = Symptom("network-reset", wall_ns, Party(comm="eth0"), "kernel log",
                      Window(wall_ns - 1, wall_ns))  # fmt: skip
    verdict = Verdict("found", "…", "high", RootCause("zombie-cgroups", Party(unit="x.service")))
    return Case(Window(1, 2), "n", "", symptom, verdict, (), (), (), (), (), Actions(), ())


def scrape(watch: Watch, hands: Hands) -> dict[str, dict[tuple[str, ...], float]]:
    watch.scraped(hands.wall_ns())
    watch.wait(5)
    return {one.metric.name: dict(one.values) for one in watch.families(hands.wall_ns())}


def harm(watch: Watch, hands: Hands) -> None:
    number = hands.now_ns // SECOND - 100
    watch.add([second(number, events=line("kernel-log", "oom.kill", "mem"))])


def found(told: dict[str, dict[tuple[str, ...], float]]) -> float:
    return told["exhume_cases"]["zombie-cgroups", "found"]


def test_a_quiet_node_is_never_diagnosed() -> None:
    hands = Hands(100 * MINUTE)
    watch = Watch(hands.look, lambda: hands.spent, hands, is_due=False)
    for _ in range(5):
        hands.now_ns += MINUTE
        watch.add([second(hands.now_ns // SECOND - 100)])
        told = scrape(watch, hands)
    assert hands.asked == []
    assert set(told["exhume_cases"].values()) == {0}
    assert told["exhume_diagnoses"] == {("made",): 0, ("failed",): 0}


def test_harm_is_diagnosed_once_and_once_more_when_it_has_settled() -> None:
    hands = Hands(100 * MINUTE)
    watch = Watch(hands.look, lambda: hands.spent, hands, is_due=False)
    harm(watch, hands)
    looks = []
    for minute in range(40):
        before = len(hands.asked)
        told = scrape(watch, hands)
        if len(hands.asked) > before:
            looks.append(minute)
        assert found(told) == 1
        hands.now_ns = (101 + minute) * MINUTE
    assert looks == [0, 10]
    assert hands.asked[0] == Window(WALL_NS + 40 * MINUTE, WALL_NS + 100 * MINUTE)
    assert told["exhume_diagnoses"]["made",] == 2
    assert told["exhume_diagnosis_cpu_seconds"][()] == 2


def test_a_case_is_told_of_until_its_symptom_is_an_hour_old() -> None:
    hands = Hands(100 * MINUTE)
    watch = Watch(hands.look, lambda: hands.spent, hands, is_due=True)
    assert found(scrape(watch, hands)) == 1
    hands.now_ns += 59 * MINUTE
    assert found(scrape(watch, hands)) == 1
    hands.now_ns += 2 * MINUTE
    assert found(scrape(watch, hands)) == 0


def test_harm_without_an_end_takes_a_hundredth_of_the_time() -> None:
    hands = Hands(100 * MINUTE, takes_ns=3 * SECOND)
    watch = Watch(hands.look, lambda: hands.spent, hands, is_due=False)
    start = hands.now_ns
    while hands.now_ns < start + 100 * MINUTE:
        harm(watch, hands)
        scrape(watch, hands)
        hands.now_ns += 15 * SECOND
    assert 15 <= len(hands.asked) <= 20
    assert len(hands.asked) * hands.takes_ns <= 0.011 * (hands.now_ns - start)


def test_a_diagnosis_that_fails_is_counted_and_the_last_cases_stay() -> None:
    hands = Hands(100 * MINUTE)
    watch = Watch(hands.look, lambda: hands.spent, hands, is_due=True)
    scrape(watch, hands)
    hands.fails = True
    hands.now_ns += 5 * MINUTE
    harm(watch, hands)
    told = scrape(watch, hands)
    assert told["exhume_diagnoses"] == {("made",): 1, ("failed",): 1}
    assert found(told) == 1


def test_a_server_that_comes_later_finds_the_case_of_the_last_hour(tmp_path: Path) -> None:
    record(tmp_path)
    end_ns = Recording.open(tmp_path).window().end_ns
    hands = Hands(end_ns - WALL_NS)
    scraper = Scraper(tmp_path, Diagnoses(tmp_path), hands)
    scraper.families()
    scraper.watch.wait(60)
    told = {one.metric.name: dict(one.values) for one in scraper.families()}
    assert told["exhume_diagnoses"] == {("made",): 1, ("failed",): 0}
    assert sum(told["exhume_cases"].values()) > 0
