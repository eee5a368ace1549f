"""The report of a case as Markdown and as a page."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.export.report_html import html
from exhume.export.report_markdown import markdown
from exhume.export.words import instant_text
from exhume.model.answers import FlameTree
from exhume.model.case import Case
from exhume.model.report import Report, ZombieCurve
from exhume.model.stack import Frame, FrameKind
from tests.cli.made_up import HOSTILE, core_map
from tests.cli.render.cases import NS, RISK, STALL, WINDOW, found, healthy

NASTY = (*HOSTILE, "<script>alert(1)</script>", '"><img src=//evil onerror=x>', "a|b`c`` ](x) ```")


def report(case: Case, *, hot: str = "memcg_numa_stat_show") -> Report:
    frames = (Frame("", "", FrameKind.KERNEL), Frame(hot, "", FrameKind.KERNEL))
    parent, weight = np.array([-1, 0], np.int32), np.array([6 * NS, 6 * NS], np.int64)
    tree = FlameTree(STALL, parent, frames, weight, np.array([0, 6 * NS], np.int64), 600, 0)
    wall = np.linspace(WINDOW.start_ns, WINDOW.end_ns, 11).astype(np.int64)
    curve = ZombieCurve(wall, np.arange(0, 22_000, 2_000, dtype=np.int64))
    cores = core_map(40, 180, 36, burst=(39, 60, 6))
    return Report(case, cores, tree, 39, (hot,), curve)


class Page(HTMLParser):
    """Tags and attributes; unclosed or crossed tags are errors."""

    VOID = ("meta", "!doctype")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_the_page_has_every_part_of_the_case_and_its_pictures() -> None:
    text = html(report(replace(found(), risks=(RISK,), meanwhile=(RISK,))))
    titles = re.findall(r"<h2>(.*?)</h2>", text)
    assert titles == [
        "The chain", "Every core around it", "Who had CPU 39 then", "Dead memory cgroups",
        "The evidence, and how to check it", "Actions", "Ruled out", "Suspects that remain",
        "Seen at that time, not tied to it", "What harms nobody yet", "What weakens this answer",
    ]  # fmt: skip
    assert "2024-05-01 03:18:00 – 03:18:06 UTC, 6.0 s; 3 times in this window" in text
    assert "<code>memcg_numa_stat_show</code>" in text
    assert text.count("exhume top --at 1714533480.000 --for 6.0s --core 39") == 1


def test_the_page_loads_nothing() -> None:
    text = html(report(found()))
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("link", "script", "img", "object", "base", "form", "a")
        source = attributes.get("src")
        assert source is None or source.startswith("data:image/svg+xml;base64,")
        assert not any(name.startswith("on") or name == "href" for name in attributes)
    assert "url(" not in text
    assert "@import" not in text
    policy = next(str(a["content"]) for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy


@cache
def _plain() -> Page:
    return Page(html(report(found())))


@pytest.mark.parametrize("name", NASTY)
def test_hostile_names_are_never_markup(name: str) -> None:
    plain = _plain()
    nasty = Page(html(report(found(name=name, walker=f"{name}2"), hot=name)))
    assert [tag for tag, _ in nasty.tags] == [tag for tag, _ in plain.tags]
    rendered = markdown(found(name=name, walker=f"{name}2"))
    assert len(rendered.splitlines()) == len(markdown(found()).splitlines())
    outside = re.sub(r"(?ms)^  (`{3,})sh$.*?^  \1$", "", rendered)
    assert not re.search(r"<|(?<!\\)\]\(", outside)
    assert re.findall(r"(?<!\\)`[^`\n]*`?", outside) == [
        "`exhume zombies --last 1h`",
        "`exhume why --since-fix TIME`",
    ]


def test_a_bar_in_a_name_makes_no_column() -> None:
    chain = [line for line in markdown(found(name="a|b")).splitlines() if line.startswith("| ◄")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in chain] == [8, 8]


def test_the_symptom_and_its_core_are_framed_on_the_map() -> None:
    text = html(report(found()))
    assert text.count('class="when"') == text.count('class="where"') == 1
    assert "CPU 39: 100 %, mostly system" in text


def test_hot_frames_are_marked_in_the_flame_graph() -> None:
    from base64 import b64decode

    text = html(report(found()))
    inner = re.search(r"base64,([^\"]+)\"></iframe>", text)
    assert inner is not None
    graph = b64decode(inner[1]).decode()
    assert re.findall(r'<g class="f hot".*?<title>(\w+)', graph) == ["memcg_numa_stat_show"]


def test_what_was_seen_meanwhile_is_in_markdown_too() -> None:
    text = markdown(replace(found(), meanwhile=(RISK,)))
    title = "\n## Seen at that time, not tied to it\n\n"
    assert text.partition(title)[2].startswith("- unit agent.service was started 30 times\n")


def test_a_healthy_page_has_no_chain_and_no_flame_graph() -> None:
    text = html(Report(healthy(), core_map(2, 600, 60), None, None, (), None))
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Every core"]
    assert markdown(healthy()).startswith("# Healthy: nobody was harmed in this window\n")


def test_cores_counted_from_samples_are_said_to_be() -> None:
    counted = report(found())
    assert counted.cores is not None
    sampled = replace(counted, cores=replace(counted.cores, by_samples=True))
    said = "counted from samples: no times of cores were recorded"
    assert said in html(sampled)
    assert said not in html(counted)


def test_a_large_node_stays_a_small_page() -> None:
    wide = replace(report(found()), cores=core_map(192, 180, 180))
    assert len(html(wide)) < 8_000_000


def test_the_same_case_makes_the_same_page() -> None:
    assert html(report(found())) == html(report(found()))


def test_commands_in_actions_can_be_pasted_from_markdown() -> None:
    case = found()
    actions = replace(
        case.actions,
        now=("or `echo 1 > /x/*_y_$z` for all", "a*b_ `", "wait: exhume up"),
        verify=("exhume top --comm '[a]*' --last 1m: it is gone", "exhume cores --data '_d'"),
    )
    text = markdown(replace(case, actions=actions))
    assert "- or `echo 1 > /x/*_y_$z` for all\n" in text
    assert "- `exhume top --comm '[a]*' --last 1m`: it is gone\n" in text
    assert "- `exhume cores --data '_d'`\n" in text
    assert "- a\\*b\\_ \\`\n" in text
    assert "- wait: exhume up\n" in text
    page = html(report(replace(case, actions=actions)))
    assert "or <code>echo 1 &gt; /x/*_y_$z</code> for all" in page


def test_who_else_was_harmed_is_told_as_in_the_terminal() -> None:
    case = found()
    assert case.symptom is not None
    other = replace(case.symptom, kind="job-failed", text="actor <died>", count=12)
    shown = replace(case, symptoms=(case.symptom, other))
    at = f"{instant_text(STALL.end_ns)}, 12 times"
    assert f"## Also harmed in this window\n\n- actor &lt;died&gt; ({at})\n" in markdown(shown)
    page = html(report(shown))
    assert f'actor &lt;died&gt; <span class="dim">({at})</span>' in page
    assert "Also harmed" not in markdown(replace(case, symptoms=(case.symptom,)))
