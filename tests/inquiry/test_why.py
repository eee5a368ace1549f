"""From a recording and a question to a case, on recordings made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from exhume.cli.main import main
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.host import Host
from exhume.inquiry.asked import Question
from exhume.inquiry.job_log import job_failures
from exhume.inquiry.report import around, hot_functions, report_of
from exhume.inquiry.why import why
from exhume.model.case import Party, Tests
from exhume.model.event import Event
from exhume.model.window import Window
from exhume.store.queries import events
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.cli.story import BURST_AT, SECONDS, record
from tests.store.make import SECOND, START, T0, at, by_hand, jiffies

ALL = Window(T0, T0 + SECONDS * SECOND)
RESET_NS = T0 + (BURST_AT + 6) * SECOND
JOB_NS = T0 + (BURST_AT + 9) * SECOND
CALM = at(0, 180)
HELD = at(120, 6)
STACKS = (("app", "main"), ("app", "main", "k_sys_read", "k_walk"))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return Recording.open(Path(record(tmp_path_factory.mktemp("story"))))


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cores, half busy, in user mode."""
    samples = [(0, step / 10, 0, 0) for step in range(1800)]
    blocks = jiffies(180, {core: {"user": 50, "idle": 50} for core in range(2)})
    root = tmp_path_factory.mktemp("calm")
    write_segment(root, by_hand(samples, stacks=STACKS, blocks=blocks, seconds=180, hz=10))
    return root


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, but for six seconds in one call."""
    samples = [(0, step / 50, 0, int(6000 <= step < 6300)) for step in range(9000)]
    blocks = jiffies(180, {core: {"user": 50, "idle": 50} for core in range(2)})
    root = tmp_path_factory.mktemp("held")
    write_segment(root, by_hand(samples, stacks=STACKS, blocks=blocks, seconds=180, hz=50))
    return root


def exactly(wall_ns: int) -> Window:
    return Window(wall_ns, wall_ns + 1)


def ask(root: Path, *words: str) -> list[str]:
    start = ["--from", str(T0 // SECOND), "--to", str(T0 // SECOND + 180)]
    return ["why", "--data", str(root), *(words if "--at" in words else [*start, *words])]


def test_a_node_that_harms_nobody_is_healthy(
    calm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = why(Recording.open(calm), CALM, Question())
    assert (case.verdict.status, case.symptom, case.chain) == ("healthy", None, ())
    assert case.verdict.root_cause is None
    assert main(ask(calm)) == 0
    assert capsys.readouterr().out.startswith("HEALTHY  nobody was harmed")


def test_a_question_about_an_instant_is_the_symptom(
    calm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = at(60, 5)
    case = why(Recording.open(calm), CALM, Question(at=asked, core=1))
    assert case.symptom is not None
    assert (case.symptom.kind, case.symptom.source) == ("question", "the question")
    assert (case.symptom.window, case.symptom.victim.core) == (asked, 1)
    assert case.verdict.status == "unknown"
    assert main(ask(calm, "--at", str(T0 // SECOND + 60), "--json")) == 2
    case_json = json.loads(capsys.readouterr().out)
    assert case_json["symptom"]["kind"] == "question"
    assert case_json["verdict"]["summary"].startswith("no harm is known at that time, and ")


def test_harm_at_that_instant_is_what_the_question_is_about(story: Recording) -> None:
    asked = Window(RESET_NS - SECOND // 2, RESET_NS + SECOND // 2)
    case = why(story, ALL, Question(at=asked))
    assert case.symptom is not None
    assert case.symptom.kind == "network-reset"


def test_without_a_question_the_worst_is_explained_and_an_event_can_be_chosen(
    story: Recording,
) -> None:
    worst = why(story, ALL, Question()).symptom
    assert worst is not None
    assert worst.kind == "network-reset"
    chosen = why(story, ALL, Question(event=exactly(JOB_NS + 500))).symptom  # JSON rounds times
    assert chosen is not None
    assert (chosen.kind, chosen.victim.comm, chosen.wall_ns) == ("job-failure", "trainer", JOB_NS)


def test_where_nobody_is_found_what_was_seen_meanwhile_is_listed(
    story: Recording, held: Path
) -> None:
    case = why(story, ALL, Question(event=exactly(JOB_NS)))
    assert case.verdict.root_cause is None
    meanwhile = {one.kind: one.subject for one in case.meanwhile}
    assert meanwhile["crash-loop"] == "ecs.service"
    assert "zombie-cgroups" in meanwhile
    assert not {(one.kind, one.subject) for one in case.risks} & set(meanwhile.items())
    found = why(Recording.open(held), CALM, Question())
    assert found.verdict.root_cause is None or found.meanwhile == ()


def test_a_guess_about_a_failure_does_not_hide_the_harm_before_it(
    story: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card was gone three seconds before; who is busy at the failure itself is a bystander."""

    def guess(scene: Scene) -> Iterator[Suspicion]:
        deep = scene.symptom.kind == "network-reset"
        name = "walker" if deep else "bystander"
        proof = Proof("samples", f"{name} had the core", {}, scene.symptom.window, "exhume top")
        tests = Tests(order="passed", place="passed")
        step = Step(proof.claim, "root_cause", tests, (proof,))
        yield Suspicion("kernel-hog", Party(comm=name), proof.claim, (step,), 3 if deep else 1)

    monkeypatch.setattr("exhume.inquiry.why.HYPOTHESES", (guess,))
    case = why(story, ALL, Question(event=exactly(JOB_NS)))
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.comm == "walker"
    assert [one.culprit.comm for one in case.suspects] == ["walker", "bystander"]


@pytest.fixture(scope="module")
def late_capture(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Three minutes with three waits, and a log that tells of a kill and of more waits before."""
    of_log = {"class": "job", "signature": "job.health", "file": "app.log"}
    waits = [*((-400 + 30 * i, 9.0) for i in range(8)), (36, 6.0), (86, 4.0), (126, 6.0)]
    kill = {"class": "mem", "signature": "oom.kill", "comm": "eater", "scope": "Out of memory"}
    killed = Event(START - 500 * SECOND, "kernel-log", "eater", "Killed process 9 (eater)", pid=9,
                   fields=kill)  # fmt: skip
    events = [
        Event(START + round(at * SECOND), "job-log", "app", f"timed out after {late}s",
              fields={**of_log, "late_seconds": late})
        for at, late in waits
    ]  # fmt: skip
    samples = [(0, step / 50, 0, 0) for step in range(9000)]
    data = by_hand(samples, stacks=STACKS, seconds=180, hz=50)
    root = tmp_path_factory.mktemp("late")
    before = by_hand([], events=(killed, *events[:8]), start_ns=START - 600 * SECOND, seconds=500,
                     stretches=(), clock=data.clock)  # fmt: skip
    write_segment(root, before)
    write_segment(root, replace(data, events=tuple(events[8:])))
    return Recording.open(root)


def test_harm_that_was_measured_is_explained_though_worse_or_longer_was_only_told_of(
    late_capture: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(scene: Scene) -> Iterator[Suspicion]:
        if scene.symptom.kind == "job-failure":
            proof = Proof("samples", "walker had the core", {}, scene.symptom.window, "exhume top")
            step = Step(proof.claim, "root_cause", Tests("passed", "passed"), (proof,))
            name = f"{len(scene.stalls)} of {len(scene.like)}"
            yield Suspicion("kernel-hog", Party(comm=name), proof.claim, (step,), 1)

    monkeypatch.setattr("exhume.inquiry.why.HYPOTHESES", (guess,))
    case = why(late_capture, late_capture.window(), Question())
    assert case.symptom is not None
    assert (case.symptom.kind, case.symptom.count) == ("job-failure", 11)
    assert case.symptom.wall_ns == T0 + 36 * SECOND
    assert [one.culprit.comm for one in case.suspects] == ["3 of 11"], "who was there is known of 3"
    assert any(gap.startswith("3 of these 11 were sampled") for gap in case.gaps)
    assert "out-of-memory" in {one.kind for one in case.symptoms}


def test_worse_harm_stays_the_answer_where_nothing_explains_what_was_measured(
    late_capture: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exhume.inquiry.why.HYPOTHESES", ())
    case = why(late_capture, late_capture.window(), Question())
    assert case.symptom is not None
    assert case.symptom.kind == "out-of-memory"


def test_an_event_that_nobody_measured_stays_what_was_asked_about(late_capture: Recording) -> None:
    asked = T0 - 400 * SECOND
    case = why(late_capture, late_capture.window(), Question(event=exactly(asked)))
    assert case.symptom is not None
    assert case.symptom.wall_ns == asked


def test_an_event_is_found_by_the_second_that_a_list_of_events_shows(
    story: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["why", "--data", str(story.root), "--json", "--event"]
    shown = datetime.fromtimestamp(JOB_NS // SECOND, UTC).isoformat()
    assert main([*words, shown]) in (1, 2)
    assert json.loads(capsys.readouterr().out)["symptom"]["kind"] == "job-failure"
    assert main([*words, str(JOB_NS // SECOND + 20)]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["symptom"], found["verdict"]["summary"]) == (
        None, "no event at that time tells of harm",
    )  # fmt: skip
    assert found["symptoms"][0]["kind"] == "job-failure", "the nearest first"


def test_a_core_without_harm_is_not_answered_with_harm_elsewhere(
    story: Recording, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = why(Recording.open(held), CALM, Question(core=1))
    assert (case.symptom, case.verdict.status) == (None, "healthy")
    assert case.verdict.summary == "no harm is known on CPU 1 in this window"
    assert [one.kind for one in case.symptoms] == ["held-thread"]
    assert main(ask(held, "--core", "1")) == 0
    said = capsys.readouterr().out
    assert "harm in this window" in said
    assert "either" not in said
    assert main(ask(held, "--core", "99")) == 64
    assert capsys.readouterr().err == "exhume: no core 99\n  recorded are cores 0 to 1\n"


def test_failures_of_a_job_outside_of_the_window_are_not_answered_with_other_harm(
    held: Path, tmp_path: Path
) -> None:
    log = lines(tmp_path / "job.log", (500, "ERROR health check timed out after 1.0s"))
    case = why(Recording.open(held), CALM, Question(job=job_failures(log, Host())))
    assert (case.symptom, case.verdict.status) == (None, "unknown")


def test_every_link_has_evidence_that_is_there(story: Recording, held: Path) -> None:
    for case in (why(story, ALL, Question()), why(Recording.open(held), CALM, Question())):
        known = {one.id for one in case.evidence}
        assert case.chain
        assert all(link.evidence and set(link.evidence) <= known for link in case.chain)


def test_a_fix_is_judged_by_the_same_harm_before_and_after(story: Recording) -> None:
    after = why(story, ALL, Question(fix_ns=RESET_NS + 60 * SECOND)).since_fix
    assert after is not None
    assert (after.before, after.after) == (1, 0)  # a line that came twice at once is one
    assert after.before_seconds + after.after_seconds == pytest.approx(SECONDS, rel=0.01)
    assert after.status == "too-early"
    before = why(story, ALL, Question(fix_ns=T0 + 60 * SECOND)).since_fix
    assert before is not None
    assert (before.before, before.after, before.status) == (0, 1, "unknown")
    assert why(story, ALL, Question()).since_fix is None


def test_a_jobs_own_log_leads_to_the_instant(calm: Path, tmp_path: Path) -> None:
    when = T0 + 100 * SECOND
    stamp = datetime.fromtimestamp(when // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    log = tmp_path / "job.log"
    log.write_text(f"{stamp} INFO step 7\n{stamp} ERROR health check timed out after 4.0s\n")
    case = why(Recording.open(calm), CALM, Question(job=job_failures(log, Host())))
    assert case.symptom is not None
    assert (case.symptom.source, case.symptom.wall_ns) == ("job log", when)
    assert case.symptom.window.seconds == pytest.approx(4.0)
    assert main(ask(calm, "--job-log", str(log), "--json")) == 2


def lines(path: Path, *failures: tuple[float, str]) -> Path:
    stamps = [datetime.fromtimestamp(T0 / SECOND + at, UTC).isoformat() for at, _ in failures]
    path.write_text("".join(f"{t} {f[1]}\n" for t, f in zip(stamps, failures, strict=True)))
    return path


def test_where_nothing_is_said_the_logs_failures_are_the_window(
    story: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = lines(tmp_path / "job.log", (BURST_AT + 9, "ERROR health check timed out after 1.0s"))
    words = ["why", "--data", str(story.root), "--job-log", str(log), "--json"]
    assert main(words) in (1, 2)
    case = json.loads(capsys.readouterr().out)
    assert case["symptom"]["kind"] == "job-failure"
    assert case["window"]["start"] <= T0 / SECOND + BURST_AT < case["window"]["end"]
    lines(log, (10 * 86400, "ERROR health check timed out after 1.0s"))
    assert main(words) == 65
    assert "were not recorded" in capsys.readouterr().err


def test_a_log_that_was_imported_too_is_counted_once(story: Recording) -> None:
    job = tuple(e for e in events(story, ALL) if e.kind == "job-log" and e.wall_ns == JOB_NS)
    twice, once = (why(story, ALL, Question(job=j, event=exactly(JOB_NS))) for j in (job, ()))
    assert twice.symptom == once.symptom


def test_a_log_that_blames_another_node_says_so(calm: Path, tmp_path: Path) -> None:
    dead = (
        "WARNING worker.py:1829 -- The node with node id: 5ad7fa and address: 10.2.7.44 and node "
        "name: {} has been marked dead because the detector has missed too many heartbeats from it."
    )
    recording = Recording.open(calm)
    own = recording.views()[0].origin.node
    for name, is_told in (("gpu-9.cluster", True), (f"{own}.cluster", False)):
        log = lines(tmp_path / f"{name}.log", (100, dead.format(name)))
        case = why(recording, CALM, Question(job=job_failures(log, Host())))
        assert any("the job's log names gpu-9.cluster" in gap for gap in case.gaps) is is_told


def test_a_log_that_tells_of_nothing_is_an_error(
    calm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"
    log.write_text("2026-01-01T00:00:00Z INFO all is well\n")
    assert main(ask(calm, "--job-log", str(log))) == 65
    assert "tells of a failure that is known" in capsys.readouterr().err


def test_a_thread_held_in_one_call_is_a_symptom_with_its_window(held: Path) -> None:
    case = why(Recording.open(held), CALM, Question())
    assert case.symptom is not None
    assert (case.symptom.kind, case.symptom.victim.comm) == ("held-thread", "app")
    assert case.symptom.window == HELD


def test_the_same_recording_gives_the_same_answer(story: Recording) -> None:
    again = Recording.open(story.root)
    assert why(story, ALL, Question()) == why(again, ALL, Question())


def test_a_report_has_the_cores_and_the_stacks_of_the_symptom(held: Path) -> None:
    recording = Recording.open(held)
    case = why(recording, CALM, Question())
    report = report_of(recording, case)
    assert report.flame is not None
    assert report.flame.samples == 300
    assert {"k_sys_read", "k_walk"} <= {frame.name for frame in report.flame.frames}
    assert report.cores is not None
    assert report.cores.window == at(120 - 30, 6 + 60)
    assert (report.flame_core, report.zombies) == (0, None)
    assert set(report.hot) == set(hot_functions(case, report.flame))


def test_a_report_of_a_healthy_node_shows_the_whole_window(calm: Path) -> None:
    recording = Recording.open(calm)
    report = report_of(recording, why(recording, CALM, Question()))
    assert report.cores is not None
    assert report.cores.window == CALM
    assert (report.flame, report.hot) == (None, ())


def test_the_stretch_around_a_symptom_stays_in_what_was_looked_at(held: Path) -> None:
    symptom = why(Recording.open(held), CALM, Question()).symptom
    assert symptom is not None
    assert around(symptom, at(110.5, 12)) == at(110, 13)


@pytest.mark.parametrize(("form", "begins"), [("--html", "<!doctype html>"), ("--markdown", "# ")])
def test_a_report_is_written_to_a_file(
    held: Path, tmp_path: Path, form: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report"
    code = main(ask(held, form, "-o", str(file)))
    assert code in (1, 2)
    assert file.read_text().startswith(begins)
    assert capsys.readouterr().out == ""
    assert main(ask(held, form)) == code
    assert capsys.readouterr().out == file.read_text()


@pytest.mark.parametrize("words", [["-o", "x"], ["--json", "--html"]])
def test_forms_that_do_not_go_together_are_usage_errors(held: Path, words: list[str]) -> None:
    assert main(ask(held, *words)) == 64
