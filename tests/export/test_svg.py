from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume import export
from exhume.export.svg import MIN_FRAME_PX, chunks, fitted, layout, script
from exhume.model.answers import FlameTree
from exhume.model.stack import Frame, FrameKind
from tests.cli.made_up import HOSTILE, STORY_WINDOW, flame_tree, frame
from tests.export.browser import Browser, Page
from tests.export.made import WINDOW, names, recording
from tests.export.readers import needs_browser

NS = "{http://www.w3.org/2000/svg}"


def drawn(tree: FlameTree, width: int = 1200, title: str = "t") -> ElementTree.Element:
    return ElementTree.fromstring("".join(chunks(tree, title=title, subtitle="s", width=width)))


def boxes(svg: ElementTree.Element) -> dict[str, tuple[float, float, float]]:
    """First line of the title → x, y and width of the box."""
    found = {}
    for one in svg.iter(f"{NS}g"):
        title, rect = one.find(f"{NS}title"), one.find(f"{NS}rect")
        if one.get("class") == "f" and title is not None and rect is not None:
            name = (title.text or "").split("\n")[0]
            found[name] = tuple(float(rect.get(key, "nan")) for key in ("x", "y", "width"))
    return found  # type: ignore[return-value]


def test_boxes_are_as_wide_as_their_share_and_hang_below_their_callers() -> None:
    found = boxes(drawn(flame_tree()))
    inner = 1200 - 24
    assert len(found) == len(flame_tree().frames)
    assert found["all"][2] == pytest.approx(inner, abs=1)
    assert found["kubelet"][2] == pytest.approx(inner * 462 / 480, abs=1)
    child, caller = found["mem_cgroup_nr_lru_pages"], found["memcg_stat_show"]
    assert child[1] == caller[1] + 18
    assert caller[0] <= child[0]
    assert child[0] + child[2] <= caller[0] + caller[2] + 0.01


def test_the_tooltip_says_what_it_is_and_how_much() -> None:
    texts = [title.text or "" for title in drawn(flame_tree()).iter(f"{NS}title")]
    (tip,) = [text for text in texts if text.startswith("mem_cgroup_nr_lru_pages\n")]
    assert tip == (
        "mem_cgroup_nr_lru_pages\nkernel, [kernel]\n72.92 %, 3.608 s, 350 samples; itself 66.67 %"
    )


def test_interrupt_work_is_told_from_the_kernels_other_work() -> None:
    texts = [title.text or "" for title in drawn(flame_tree()).iter(f"{NS}title")]
    (tip,) = [text for text in texts if text.startswith("ena_io_poll\n")]
    assert "\ninterrupt, " in tip
    legend = {text.text for text in drawn(flame_tree()).iter(f"{NS}text")}
    assert {"process", "user", "kernel", "interrupt"} <= legend
    assert "softirq" not in legend


@given(name=names, title=st.text(max_size=20))
@settings(max_examples=40, deadline=None)
def test_any_name_is_text_and_nothing_else(name: str, title: str) -> None:
    tree = flame_tree({"kubelet": name, "vfs_read": name})
    text = "".join(chunks(tree, title=title, subtitle=title, width=900))
    svg = ElementTree.fromstring(text.encode())
    assert [one.tag for one in svg.iter(f"{NS}script")] == [f"{NS}script"]
    assert len(list(svg.iter())) == len(list(drawn(flame_tree({"kubelet": "a" * 9,
        "vfs_read": "b" * 9}), 900).iter()))  # fmt: skip
    assert text.count("]]>") == 1
    assert text.count("</script>") == 1


def test_the_script_can_stand_in_cdata_and_loads_nothing() -> None:
    assert "]]>" not in script()
    text = "".join(chunks(flame_tree(), title="t", subtitle="s", width=900))
    for word in ("http://", "https://"):
        addresses = {part.split('"')[0] for part in text.split(word)[1:]}
        assert addresses <= {"www.w3.org/2000/svg", "www.w3.org/1999/xhtml"}


def test_frames_too_thin_to_see_are_left_out_and_counted() -> None:
    count = 20_000
    parent = np.array([-1, *[0] * count], np.int32)
    frames = (frame(""), *(Frame(f"p{n}", "", FrameKind.PROCESS) for n in range(count)))
    own = np.array([0, 10**9, *[1] * (count - 1)], np.int64)
    total = own.copy()
    total[0] = own.sum()
    tree = FlameTree(STORY_WINDOW, parent, frames, total, own, count, 0)
    found, left_out = layout(tree, MIN_FRAME_PX / 1176)
    assert (len(found), left_out) == (2, count - 1)
    text = "".join(chunks(tree, title="t", subtitle="s", width=1200))
    assert "19,999 frames thinner than 0.1 px are not drawn" in text


def test_names_are_cut_to_their_boxes() -> None:
    assert fitted("memcpy", 200) == "memcpy"
    assert fitted("memcpy", 40) == "mem…"
    assert fitted("memcpy", 20) == ""
    assert fitted("x", 4) == ""


def test_no_samples_and_deep_stacks_can_be_drawn() -> None:
    nothing = np.zeros(1, np.int64)
    empty = FlameTree(STORY_WINDOW, np.array([-1], np.int32), (frame(""),), nothing, nothing, 0, 0)
    assert "no samples" in "".join(drawn(empty).itertext())
    depth = 3_000
    chain = FlameTree(
        STORY_WINDOW,
        np.arange(-1, depth, dtype=np.int32),
        tuple(frame(f"f{n}") for n in range(depth + 1)),
        np.full(depth + 1, 10),
        np.array([*[0] * depth, 10]),
        1,
        0,
    )
    found = boxes(drawn(chain))
    assert len(found) == depth + 1
    # A browser shows the top first: there the root is, and what is called from it.
    assert found["all"][1] < 100
    assert found["f1"][1] == found["all"][1] + 18


def test_the_title_is_the_node_and_the_window_unless_given(tmp_path: Path) -> None:
    found = recording(tmp_path)
    text = export.write("svg", found, WINDOW).decode()
    assert "<title>node-1 · 2026-11-15 20:10:00 – 20:10:10 UTC</title>" in text
    assert "310 samples, 3.10 s of core time, 31.0 % of one core" in text
    options = export.Options(title="a <b>", width=640)
    assert 'width="640"' in export.write("svg", found, WINDOW, options=options).decode()
    assert (
        "<title>a &lt;b&gt;</title>" in export.write("svg", found, WINDOW, options=options).decode()
    )


# --- in a browser -----------------------------------------------------------------------------

VISIBLE = "[...document.querySelectorAll('.f')].filter(g => getComputedStyle(g).display != 'none')"
FIND = "[...document.querySelectorAll('.f')].find(g => g.textContent.startsWith({!r}))"


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Page:
    file = tmp_path / "flame.svg"
    hostile = {"train_step": "</script><script>window.broken=1</script>", "python": HOSTILE[0]}
    file.write_text("".join(chunks(flame_tree(hostile), title="t", subtitle="s", width=1200)))
    return browser.open(file.as_uri())


def click(page: Page, name: str) -> None:
    event = "new MouseEvent('click', {bubbles: true})"
    page.ask(f"{FIND.format(name)}.querySelector('rect').dispatchEvent({event})")


def search(page: Page, words: str) -> str:
    page.ask(
        f"(() => {{ const box = document.querySelector('#search'); box.value = {words!r};"
        "box.dispatchEvent(new Event('input')); })()"
    )
    return str(page.ask("document.querySelector('#matched').textContent"))


def width(page: Page, name: str) -> float:
    return float(page.ask(f"{FIND.format(name)}.querySelector('rect').getAttribute('width')"))


@needs_browser
def test_a_click_zooms_and_escape_shows_all_again(page: Page) -> None:
    everything = page.ask(f"{VISIBLE}.length")
    before = width(page, "mem_cgroup_nr_lru_pages\n")
    click(page, "mem_cgroup_nr_lru_pages\n")
    assert width(page, "mem_cgroup_nr_lru_pages\n") == pytest.approx(1176, abs=1)
    # What called it is still there, what ran beside it is not.
    assert page.ask(f"{VISIBLE}.length") == 2 + 7
    assert page.ask("document.querySelector('#reset').getAttribute('visibility')") == "visible"
    page.ask(
        "document.documentElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))"
    )
    assert page.ask(f"{VISIBLE}.length") == everything
    assert width(page, "mem_cgroup_nr_lru_pages\n") == pytest.approx(before)


@needs_browser
def test_a_search_tells_the_share_of_what_it_finds(page: Page) -> None:
    # In mem_cgroup_nr_lru_pages and in what it calls: counted once.
    assert search(page, "^(mem_cgroup|_raw_spin)") == "matched: 72.92 %"
    assert page.ask("document.querySelectorAll('.hit').length") == 2
    assert search(page, "ENA_IO") == "matched: 1.25 %"
    # No regex, so taken as it is: main.(*Manager).housekeeping.
    assert search(page, "(*Man") == "matched: 96.25 %"
    assert page.ask("document.querySelector('#search').classList.contains('bad')")
    assert search(page, "").strip() == ""
    click(page, "memcg_stat_show\n")
    assert search(page, "cpumask") == "matched: 20.88 %"


@needs_browser
def test_pointing_at_a_frame_shows_it_in_full(page: Page) -> None:
    event = "new MouseEvent('mouseover', {bubbles: true})"
    page.ask(f"{FIND.format('ena_io_poll')}.querySelector('rect').dispatchEvent({event})")
    details = page.ask("document.querySelector('#details').textContent")
    assert details.startswith("ena_io_poll  ·  interrupt")


@needs_browser
def test_a_hostile_name_is_shown_and_not_run(page: Page) -> None:
    assert page.ask(
        "window.broken === undefined && document.querySelectorAll('script').length === 1"
    )
    assert page.ask(f"!!{FIND.format('</script><script>window.broken=1')}")
