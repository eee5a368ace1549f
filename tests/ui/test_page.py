"""What a person does on the page, on twenty minutes of the story."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from exhume.cli import figures
from exhume.model.core import NO_CORE
from exhume.store.writer import write_segment
from tests.cli.story import START_WALL
from tests.store.make import by_hand
from tests.ui.browser import Watched, opened, served
from tests.ui.story import BURST, HOSTILE


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


def test_the_sub_second_map_is_brushed_to_part_of_a_second(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&tab=sub-second")
    page = tab.page
    canvas = page.locator("canvas.heat")
    box = canvas.bounding_box()
    assert box is not None
    before = tab.selection()
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
    # What it takes on disk is what `exhume status` says, roll-ups and all.
    used = page.request.get(f"{tab.address}api/status").json()["disk"]["used_bytes"]
    shown = page.locator(".figures div", has_text="on disk").locator("dd")
    expect(shown).to_have_text(figures.size(used))


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


def test_a_case_opens_while_others_are_looked_into(tab: Watched) -> None:
    page = tab.page
    asked: list[Route] = []

    def only_the_worst(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.continue_()

    page.route("**/api/cases?*", only_the_worst)
    tab.go()
    page.locator(".cases li button").first.click()
    expect(page.locator("article.case h2")).to_be_visible()
    expect(page.get_by_text("Looking into others")).to_be_visible()
    with page.expect_download():
        page.get_by_role("button", name="Download as markdown").click()
    for route in asked[1:]:
        route.continue_()


def test_the_address_of_evidence_shows_what_a_click_on_it_does(tab: Watched) -> None:
    page = tab.page

    def of_all_that_is_recorded(route: Route) -> None:
        found = route.fetch().json()
        for entry in found["cases"]:
            entry["places"][0].update(window=found["window"], tab="timeline")
        route.fulfill(json=found)

    page.route("**/api/cases?*", of_all_that_is_recorded)
    tab.go()
    page.locator(".cases li button").first.click()
    link = page.locator(".evidence .link").first
    address = link.get_attribute("href")
    link.click()
    expect(page.locator("article.case")).to_have_count(0)
    clicked = page.locator(".controls .what").inner_text()
    tab.go(address or "")
    assert page.locator(".controls .what").inner_text() == clicked
    expect(page.locator(".selection-bar")).to_have_count(0)


def test_all_that_is_shown_is_what_was_recorded_of_it(tab: Watched) -> None:
    page = tab.page
    tab.go("?utc=1")
    page.get_by_role("button", name="Select all that is shown").click()
    expect(page.locator(".selection-bar b").first).to_have_text(
        page.get_by_title("Show the whole recording").inner_text()
    )


def test_against_a_time_without_samples_nothing_is_more(tab: Watched) -> None:
    page = tab.page
    tab.go(f"?pick={START_WALL}-{START_WALL + 60}&tab=diff")
    expect(page.get_by_text("there is nothing to compare with")).to_be_visible()
    expect(page.locator("canvas.flame")).to_have_count(0)
    page.get_by_label("compared with").select_option("whole")
    expect(page.get_by_text("there is nothing to compare with")).to_have_count(0)


def test_the_selection_is_exported_as_a_file(tab: Watched) -> None:
    tab.go(f"?pick={BURST}-{BURST + 6}&core=3")
    page = tab.page
    page.get_by_role("button", name="export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="folded").click()
    text = Path(saved.value.path()).read_text()
    assert "kubelet;main;k_seq_read" in text
    assert "trainer" not in text


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


def test_a_filter_is_seen_and_can_be_dropped_before_anything_is_selected(tab: Watched) -> None:
    tab.go("?comm=nobody")
    chip = tab.page.locator(".selection.none .chip")
    expect(chip).to_have_text(re.compile("comm nobody"))
    chip.click()
    expect(chip).to_have_count(0)
    expect(tab.page).not_to_have_url(re.compile("comm"))


def test_a_recording_without_samples_does_not_claim_that_cores_were_idle(
    browser: Browser, tmp_path: Path
) -> None:
    write_segment(tmp_path, by_hand([]))
    with served(tmp_path) as address, opened(browser, address) as tab:
        tab.go()
        tab.page.get_by_role("button", name="Select all that is shown").click()
        for name in ("Flame", "Who ran", "Frames", "Samples", "Sub-second"):
            tab.page.get_by_role("tab", name=name).click()
            panel = tab.page.locator("[role=tabpanel]")
            expect(panel).to_contain_text("No samples are in this recording")
            expect(panel).not_to_contain_text("idle")
