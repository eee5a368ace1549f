"""What a person does on the page, on twenty minutes of the story."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, Route, expect

from exhume.model.core import NO_CORE
from exhume.model.event import Event
from exhume.model.segment import SegmentData
from exhume.model.series import Block
from exhume.store.writer import write_segment
from tests.cli.story import BURST_AT, START_WALL, segments
from tests.store.make import SECOND, by_hand
from tests.ui.browser import Scheme, Watched, opened, served

HOSTILE = "<img src=x onerror=alert(1)>"
ESCAPES = "\x1b]0;pwned\x07\u202egnp"
BURST = START_WALL + BURST_AT


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("story")
    for index, part in enumerate(segments({"unit": "ecs.service"})):
        write_segment(root, sampled(part, index * 600))
    return root


def sampled(part: SegmentData, first: int) -> SegmentData:
    """The story has counters and events; here is who was on the cores."""
    stacks = (
        ("trainer", "main", "matmul"),
        ("kubelet", "main", "k_seq_read", "k_mem_cgroup_nr_lru_pages"),
        (HOSTILE, ESCAPES, "k_read"),
    )
    threads = (
        (50, 50, "trainer", "/a"),
        (60, 60, "kubelet", "/system.slice/kubelet.service"),
        (70, 70, HOSTILE, f"/{HOSTILE}"),
    )
    rng = np.random.default_rng(first)
    samples = [
        (int(core), float(at), 0, 0)
        for core in range(4)
        for at in np.sort(rng.uniform(0, 600, 900))
        if not (core == 3 and BURST_AT <= first + at < BURST_AT + 6)
    ]
    samples += [(2, float(at), 2, 2) for at in np.arange(0.4, 600, 2.0)]
    if first <= BURST_AT < first + 600:
        samples += [(3, BURST_AT - first + n / 97, 1, 1) for n in range(6 * 97)]
    made = by_hand(samples, stacks=stacks, threads=threads, seconds=600, hz=97.0,
                   start_ns=part.start_ns)  # fmt: skip
    hostile = Event(part.start_ns + 30 * SECOND, "job-log", HOSTILE, ESCAPES,
                    fields={"signature": "ray.actor_died", "class": "job"})  # fmt: skip
    times = np.arange(5, 600, 60, dtype=np.int64) * SECOND + part.start_ns
    nodes = np.tile(np.array([0, 1, 0, 1], np.int64), (len(times), 1))
    numa = Block("topology.numa_node", ("0", "1", "2", "3"), times, nodes)
    return replace(
        part,
        blocks=(*part.blocks, numa),
        samples=made.samples,
        tree=made.tree,
        threads=made.threads,
        stretches=made.stretches,
        events=tuple(sorted((*part.events, hostile), key=lambda event: event.time_ns)),
    )


@pytest.fixture(scope="module")
def address(data: Path, browser: Browser) -> Iterator[str]:
    with served(data) as found:
        yield found


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Watched]:
    with opened(browser, address) as watched:
        yield watched


def selection(page: Page) -> str:
    return page.locator(".selection-bar b").first.inner_text()


def test_brushing_the_burst_names_the_core_and_the_function(tab: Watched) -> None:
    tab.go(f"?axis={BURST - 60}-{BURST + 60}")
    page = tab.page
    x, y, width, height = tab.box("map")
    gutter, right = 104, 14
    scale = (width - gutter - right) / 120
    at = x + gutter + 60 * scale
    tab.drag((at + 1, y + height / 2), (at + 5.5 * scale, y + height / 2))
    page.get_by_role("button", name=re.compile("core 3 was at 100 %")).click()
    expect(page.locator(".chip")).to_have_text(re.compile("core 3"))
    expect(page.locator("canvas.flame")).to_be_visible()
    page.get_by_label("Search frames").fill("mem_cgroup_nr_lru_pages")
    expect(page.locator(".flame-bar .tag")).to_have_text(re.compile(r"(9\d|100) % in 1 frame"))
    page.get_by_role("tab", name="Who ran").click()
    expect(page.locator("table.who tbody tr").first).to_contain_text("kubelet")
    page.get_by_role("tab", name="Frames").click()
    expect(page.locator("tbody tr").first).to_contain_text(re.compile("seq_read|main|mem_cgroup"))


def test_the_address_reproduces_the_view(browser: Browser, tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.mouse.move(*middle_of_map(tab))
    page.mouse.wheel(0, -400)
    x, y, width, height = tab.box("map")
    tab.drag((x + width * 0.4, y + height / 2), (x + width * 0.6, y + height / 2))
    page.get_by_role("tab", name="Diff").click()
    page.locator(".segmented label", has_text="system").first.click()
    page.locator(".segmented label", has_text="by heat").click()
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Search filters").fill("comm:kubelet")
    page.get_by_label("Search filters").press("Enter")
    expect(page.locator(".chip")).to_have_text(re.compile("comm kubelet"))
    expect(page).to_have_url(re.compile("comm=kubelet"))
    shown, where = selection(page), page.url
    with opened(browser, where) as again:
        again.go()
        expect(again.page.locator(".selection-bar b").first).to_have_text(shown)
        expect(again.page.get_by_role("tab", name="Diff")).to_have_attribute(
            "aria-selected", "true"
        )
        expect(again.page.locator(".chip")).to_have_text(re.compile("comm kubelet"))
        expect(again.page.locator(".segmented label.on")).to_have_text(
            [re.compile("system"), re.compile("by heat")]
        )
        again.page.wait_for_timeout(300)
        assert again.page.url == where


def test_cores_are_ordered_by_numa_node_with_a_line_between(tab: Watched) -> None:
    tab.go()
    page = tab.page
    canvas = page.locator('canvas[data-lane="map"]')
    expect(canvas).to_have_attribute("data-nodes", "")
    page.locator(".segmented label", has_text="by NUMA node").click()
    expect(canvas).to_have_attribute("data-nodes", "0 2")
    expect(canvas).to_have_attribute("aria-label", re.compile("4 cores in 2 NUMA nodes"))
    expect(page).to_have_url(re.compile("order=numa"))
    x, y, _, _ = tab.box("map")
    row = float(canvas.get_attribute("data-row") or 0)
    page.mouse.click(x + 90, y + 1.5 * row)  # the second row is the next core of the first node
    expect(page).to_have_url(re.compile("core=2"))


def test_where_numa_nodes_were_not_recorded_the_page_says_so(tab: Watched) -> None:
    tab.page.route("**/api/numa-nodes?*", lambda route: route.fulfill(json=[]))
    tab.go("?order=numa")
    expect(tab.page.locator(".why-not")).to_contain_text("not in this recording")
    expect(tab.page.get_by_role("radio", name=re.compile("by NUMA node"))).to_be_disabled()
    expect(tab.page.locator('canvas[data-lane="map"]')).to_have_attribute("data-nodes", "")


def middle_of_map(tab: Watched) -> tuple[float, float]:
    x, y, width, height = tab.box("map")
    return x + width / 2, y + height / 2


def test_a_hostile_name_is_text_in_every_tab(tab: Watched) -> None:
    tab.go(f"?pick={BURST - 5}-{BURST + 5}")
    page = tab.page
    for name in ("Flame", "Who ran", "Diff", "Frames", "Events", "Samples", "Sub-second"):
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.locator("#panel .loading")).to_have_count(0)
    page.get_by_role("tab", name="Who ran").click()
    expect(page.locator("table.who")).to_contain_text(HOSTILE)
    page.get_by_role("tab", name="Samples").click()
    expect(page.locator("#panel table")).to_contain_text("\\x1b]0;pwned\\x07\\u202egnp")
    page.get_by_role("button", name="+ filter").click()
    expect(page.locator(".drop")).to_contain_text(HOSTILE)
    tab.go(f"?pick={START_WALL + 20}-{START_WALL + 40}&tab=events&comm={HOSTILE}")
    expect(page.locator("#panel table")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0
    assert "\x1b" not in page.locator("body").inner_text()


def test_zooming_and_panning_move_everything_on_one_axis(tab: Watched) -> None:
    tab.go()
    page = tab.page
    before = page.locator(".controls .what").inner_text()
    page.mouse.move(*middle_of_map(tab))
    for _ in range(12):
        page.mouse.wheel(0, -300)
    expect(page.locator(".controls .what")).not_to_have_text(before)
    for _ in range(60):
        page.mouse.wheel(0, -600)
    expect(page.locator(".controls .what")).to_contain_text("10 ms")
    page.keyboard.press("Home")
    expect(page.locator(".controls .what")).to_have_text(before)
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".controls .what")).not_to_have_text(before)
    page.keyboard.press("s")
    expect(page.locator(".selection-bar")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".selection.none")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Help")).to_have_count(0)


@pytest.mark.parametrize("query", ["?axis=1-2", "?axis=1-2&view=units", "?axis=1-2&view=zombies"])
def test_from_a_time_of_which_nothing_was_recorded_a_button_leads_back(
    tab: Watched, query: str
) -> None:
    tab.go(query)
    said = tab.page.locator(".outside")
    expect(said).to_contain_text("1970-01-01 00:00:01")
    expect(tab.page.locator(".cases li button").first).to_be_visible()
    said.get_by_role("button").click()
    expect(said).to_have_count(0)
    tab.page.get_by_role("button", name="Timeline").click()
    expect(tab.page.locator(".controls .what")).to_contain_text("2026-11-15")


def test_a_frame_can_be_hidden_kept_and_turned_around(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&core=3&zoom=kubelet")
    page = tab.page
    expect(page.locator(".flame-said b")).to_have_text("kubelet")
    page.get_by_role("button", name="hide").click()
    expect(page.locator(".chips .chip")).to_have_text(re.compile("without kubelet"))
    expect(page.locator(".flame-said, .empty")).not_to_contain_text("kubelet")
    page.locator(".chips .chip").click()
    page.get_by_label("root at the bottom").check()
    page.get_by_label("collapse recursion").check()
    page.get_by_role("button", name="callers").click()
    expect(page.locator(".chips .chip")).to_have_text(re.compile("callers of kubelet"))
    expect(page).to_have_url(re.compile("upside=flame"))


def test_a_frame_that_is_held_stays_while_the_mouse_goes_on(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&core=3")
    page = tab.page
    said, canvas = page.locator(".flame-said b"), page.locator("canvas.flame")
    row = 19  # on a laptop
    canvas.click(position={"x": 40, "y": 1.5 * row}, button="right")
    held = said.inner_text()
    canvas.hover(position={"x": 40, "y": 3.5 * row})
    expect(said).to_have_text(held)
    page.get_by_role("button", name="let go").click()
    canvas.hover(position={"x": 40, "y": 3.5 * row})
    expect(said).not_to_have_text(held)
    canvas.click(position={"x": 40, "y": 1.5 * row}, button="right")
    page.get_by_role("button", name="only this").click()
    expect(page.locator(".chips .chip")).to_have_text(re.compile(f"only {re.escape(held)}"))


def test_bars_of_who_ran_lie_in_the_middle_of_their_rows(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&tab=who")
    page = tab.page
    expect(page.locator(".who .strip button", has_text="%").first).to_be_visible()
    off = page.evaluate("""[...document.querySelectorAll('.who tbody tr')].map(row => {
        const middle = box => (box.top + box.bottom) / 2
        const strip = row.querySelector('.strip').getBoundingClientRect()
        return Math.abs(middle(strip) - middle(row.getBoundingClientRect()))
    })""")
    assert max(off) < 1.5, off


def test_the_sub_second_map_is_brushed_to_part_of_a_second(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&tab=sub-second")
    page = tab.page
    canvas = page.locator("canvas.heat")
    box = canvas.bounding_box()
    assert box is not None
    before = selection(page)
    column = min(26, (box["width"] - 62) // 60)
    x = box["x"] + 62 + 30 * column + column / 2
    tab.drag((x, box["y"] + 200), (x, box["y"] + 100))
    expect(page.locator(".selection-bar b").first).not_to_have_text(before)
    expect(page.locator(".selection-bar .faint").first).to_have_text(re.compile(r"ms|1 s"))


def test_zombies_units_and_the_recorder_have_pages(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.get_by_role("button", name="Zombies", exact=True).click()
    expect(page.locator(".view")).to_contain_text("60,114")
    expect(page.locator(".view")).to_contain_text("/system.slice/ecs.service")
    page.get_by_role("button", name="Units").click()
    expect(page.locator(".view tbody tr").first).to_contain_text("crash loop")
    expect(page.locator("tr .pulse.crash-loop .start").first).to_be_visible()
    page.get_by_role("button", name="Recorder").click()
    expect(page.locator(".view")).to_contain_text("node-1")


def test_counts_are_grouped_as_in_the_terminal(tab: Watched) -> None:
    def restarted(route: Route) -> None:
        answer = route.fetch().json()
        answer["lifecycles"][0] |= {"mark": "crash loop", "starts": 22055}
        route.fulfill(json=answer)

    tab.page.route("**/api/units?*", restarted)
    tab.go("?view=units")
    expect(tab.page.locator(".units tbody tr").first).to_contain_text("22,055")


SCREENS = ((3840, 2160), (1440, 900), (1280, 800), (800, 900), (500, 900))
TOO_WIDE = """async () => {
    const found = () => [...document.querySelectorAll('html, body, main, .stage, fieldset')]
        .filter(one => one.scrollWidth > one.clientWidth).map(one => one.outerHTML.slice(0, 80))
    for (let tries = 0; tries < 100 && found().length; tries++)
        await new Promise(again => setTimeout(again, 50))
    return found()
}"""
"""What still is after a while: what is drawn follows the screen's size only with the next frame."""


def test_no_view_is_wider_than_the_screen(tab: Watched) -> None:
    page = tab.page
    tab.go()
    page.locator(".cases li button").first.click()
    expect(page).to_have_url(re.compile("case="))
    case = page.url.partition("?")[2]
    tabs = ("flame", "sub-second", "who", "diff", "frames", "events", "samples")
    views = [f"?{case}", *(f"?view={view}" for view in ("zombies", "units", "recorder"))]
    for query in ("", *views, *(f"?pick={BURST}-{BURST + 6}&tab={one}" for one in tabs)):
        tab.go(query)
        expect(page.locator(".loading")).to_have_count(0)
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(TOO_WIDE) == [], (query, width)


def test_a_lane_has_one_plot_after_the_letters_changed_their_size(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}")
    page = tab.page
    lanes = page.locator(".lane.line")
    expect(page.locator(".lane.line .uplot")).to_have_count(3)
    for width, height in SCREENS[:2] * 4:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
    assert [lane.locator(".uplot").count() for lane in lanes.all()] == [1, 1, 1]


def test_a_case_leads_to_its_evidence(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.locator(".cases li button").first.click()
    expect(page.locator("article.case h2")).to_be_visible()
    expect(page.locator("article.case .chain li").first).to_be_visible()
    title = page.locator("article.case h2").inner_text().partition(" ")[2]
    for name, suffix in (("html", ".html"), ("markdown", ".md"), ("json", ".json")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Download as {name}").click()
        assert saved.value.suggested_filename.endswith(suffix)
        report = unescape(Path(saved.value.path()).read_text()).replace("\\", "")
        assert title in report
    expect(page).to_have_url(re.compile("view=case"))
    page.locator(".evidence .link").first.click()
    expect(page.locator(".selection-bar, .view").first).to_be_visible()
    expect(page.locator("article.case")).to_have_count(0)


def test_back_and_forward_go_through_what_was_looked_at(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.locator(".cases li button").first.click()
    case = page.locator("article.case")
    expect(case).to_be_visible()
    page.locator(".evidence .link[href*='tab=']").first.click()
    expect(page.locator(".selection-bar")).to_be_visible()
    shown = selection(page)
    page.get_by_role("tab", name="Who ran").click()
    page.go_back()
    expect(page.get_by_role("tab", name="Who ran")).to_have_attribute("aria-selected", "false")
    page.go_back()
    expect(case).to_be_visible()
    page.go_forward()
    expect(page.locator(".selection-bar b").first).to_have_text(shown)
    page.go_back()
    page.go_back()
    expect(page.locator(".selection.none")).to_be_visible()


def test_zooming_and_panning_are_no_steps_to_go_back_through(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.get_by_role("button", name="Units").click()
    page.get_by_role("button", name="Timeline").click()
    before = page.evaluate("history.length")
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("axis="))
    assert page.evaluate("history.length") == before
    page.keyboard.press("ArrowLeft")
    left = page.locator(".controls .what").inner_text()
    page.get_by_role("button", name="Recorder").click()
    page.go_back()
    expect(page.locator(".controls .what")).to_have_text(left)
    page.go_back()
    expect(page.locator(".view h2")).to_have_text(re.compile("Units"))


def test_the_selection_is_exported_as_a_file(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&core=3")
    page = tab.page
    page.get_by_role("button", name="export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="folded").click()
    text = Path(saved.value.path()).read_text()
    assert "kubelet;main;k_seq_read" in text
    assert "trainer" not in text


@pytest.mark.parametrize("name", ["export", "+ filter", "+ lane"])
def test_escape_closes_a_menu_and_nothing_else(tab: Watched, name: str) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}")
    page = tab.page
    page.get_by_role("button", name=name).click()
    expect(page.locator(".drop li button").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".drop")).to_have_count(0)
    expect(page.locator(".selection-bar")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".selection.none")).to_be_visible()


def test_a_server_with_a_token_is_opened_with_it(browser: Browser, data: Path) -> None:
    with served(data, token="s3cret") as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.get_by_label("Token").fill("s3cret")
        page.get_by_role("button", name="Open").click()
        expect(page.locator('canvas[data-lane="map"]')).to_be_visible()
        assert "s3cret" not in page.url
        context.close()


def test_lanes_are_chosen_from_what_was_recorded(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.get_by_role("button", name="+ lane").click()
    page.get_by_label("Search fields").fill("squeezed")
    page.locator(".drop li button").first.click()
    expect(page.locator('[data-lane="softnet.squeezed"]')).to_be_visible()
    page.get_by_label("Remove the lane softnet.squeezed").click()
    expect(page.locator('[data-lane="softnet.squeezed"]')).to_have_count(0)


def test_dark_and_light_are_drawn_differently(browser: Browser, address: str) -> None:
    drawn = {}
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        with opened(browser, address, color_scheme=scheme) as tab:
            with tab.page.expect_response(re.compile("/api/cores")):
                tab.go()
            tab.page.wait_for_timeout(400)
            drawn[scheme] = tab.pixels('canvas[data-lane="map"]')
    assert drawn["light"] != drawn["dark"]


def test_no_recording_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with served(tmp_path / "empty") as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        expect(page.get_by_role("alert")).to_contain_text("exhume up")
        context.close()


def test_a_capture_alone_has_its_cores_drawn_from_samples(browser: Browser, tmp_path: Path) -> None:
    """perf.data knows no times of cores. Ten minutes: columns are wider than half a second."""
    full = [(7, n / 50, 0, 1) for n in range(600 * 50)]
    some = [(2, float(second), 0, 0) for second in range(600)]
    stacks = (("app", "main"), ("app", "k_read"))
    write_segment(tmp_path, by_hand(full + some, stacks=stacks, seconds=600, hz=50.0))
    with served(tmp_path) as address, opened(browser, address) as tab:
        with tab.page.expect_response(re.compile("/api/cores")):
            tab.go()
        expect(tab.page.get_by_label(re.compile("Core by time map of 2 cores"))).to_be_visible()
        expect(tab.page.get_by_text("from samples")).to_be_visible()
        tab.page.wait_for_timeout(400)
        x, y, width, height = tab.box("map")
        tab.page.mouse.move(x + width / 2, y + height * 0.75)
        expect(tab.page.locator(".tip")).to_contain_text(re.compile("core 7.*100 % system"))


def test_samples_of_no_core_say_what_to_record(browser: Browser, tmp_path: Path) -> None:
    samples = [(NO_CORE, n / 100, 0, 0) for n in range(1000)]
    write_segment(tmp_path, by_hand(samples))
    with served(tmp_path) as address, opened(browser, address) as tab:
        tab.go()
        expect(tab.page.locator(".lane-note")).to_contain_text("perf record -a")
        tab.page.get_by_role("button", name="Select all that is shown").click()
        expect(tab.page.locator("canvas.flame")).to_be_visible()
