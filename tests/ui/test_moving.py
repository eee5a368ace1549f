"""Where a person is on the page: the address, back and forward, the axis, Escape."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.browser import Watched, opened
from tests.ui.story import BURST


def test_the_address_reproduces_the_view(browser: Browser, tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.mouse.move(*tab.middle_of_map())
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
    shown, where = tab.selection(), page.url
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


def test_back_and_forward_go_through_what_was_looked_at(tab: Watched) -> None:
    tab.go()
    page = tab.page
    page.locator(".cases li button").first.click()
    case = page.locator("article.case")
    expect(case).to_be_visible()
    page.locator(".evidence .link[href*='tab=']").first.click()
    expect(page.locator(".selection-bar")).to_be_visible()
    shown = tab.selection()
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


def test_zooming_and_panning_move_everything_on_one_axis(tab: Watched) -> None:
    tab.go()
    page = tab.page
    before = page.locator(".controls .what").inner_text()
    page.mouse.move(*tab.middle_of_map())
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
