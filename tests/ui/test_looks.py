"""How the page looks: on small and large screens, by day and by night."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Route, expect

from tests.cli.story import START_WALL
from tests.ui.browser import Scheme, Watched, opened
from tests.ui.story import BURST

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


WATCH_EDGES = """(() => {
    const draw = CanvasRenderingContext2D.prototype.drawImage
    window.edges = []
    CanvasRenderingContext2D.prototype.drawImage = function (picture, x, y, wide, high) {
        if (this.canvas.dataset.lane === 'map') window.edges.push(x, x + wide)
        return draw.call(this, picture, x, y, wide, high)
    }
})()"""
EDGES = """async () => {
    for (let tries = 0; tries < 100 && new Set(window.edges.map(Math.round)).size < 3; tries++)
        await new Promise(again => setTimeout(again, 50))
    return window.edges
}"""
"""Of the pictures that the map is made of, once there are several."""


def test_no_seam_on_the_map_looks_like_a_second_that_was_not_recorded(
    browser: Browser, address: str
) -> None:
    with opened(browser, address) as tab:
        tab.page.add_init_script(WATCH_EDGES)
        tab.go(f"?axis={START_WALL + 0.37}-{START_WALL + 1150.61}")
        edges = tab.page.evaluate(EDGES)
    assert len(set(edges)) > 2
    assert [edge for edge in edges if edge != round(edge)] == []


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


def test_counts_are_grouped_as_in_the_terminal(tab: Watched) -> None:
    def restarted(route: Route) -> None:
        answer = route.fetch().json()
        answer["lifecycles"][0] |= {"mark": "crash loop", "starts": 22055}
        route.fulfill(json=answer)

    tab.page.route("**/api/units?*", restarted)
    tab.go("?view=units")
    expect(tab.page.locator(".units tbody tr").first).to_contain_text("22,055")


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
