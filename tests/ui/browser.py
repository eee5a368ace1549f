"""The page in the system's own Chromium, served by a real server, watched for mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct, field
from playwright.sync_api import Browser, Page, expect

from bench._page import ARGUMENTS, CHROMIUM, served

__all__ = ["ARGUMENTS", "CHROMIUM", "Scheme", "Watched", "opened", "served"]

SLOW_MS = 20_000
"""Other work may go on beside the tests."""
Scheme = Literal["light", "dark"]
expect.set_options(timeout=SLOW_MS)


class Watched(Struct):
    """A tab, and everything it did that it must not."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def go(self, query: str = "") -> None:
        self.page.goto(self.address + query)
        expect(self.page.locator("header h1")).to_be_visible()

    def box(self, lane: str) -> tuple[float, float, float, float]:
        """x, y, width, height of a lane's canvas on the screen."""
        found = self.page.locator(f'canvas[data-lane="{lane}"]').bounding_box()
        assert found is not None
        return found["x"], found["y"], found["width"], found["height"]

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        mouse.move(*end)
        mouse.up()

    def middle_of_map(self) -> tuple[float, float]:
        x, y, width, height = self.box("map")
        return x + width / 2, y + height / 2

    def selection(self) -> str:
        return self.page.locator(".selection-bar b").first.inner_text()

    def pixels(self, selector: str) -> str:
        """A fingerprint of what a canvas shows."""
        drawn: str = self.page.locator(selector).evaluate("canvas => canvas.toDataURL()")
        return drawn


@contextmanager
def opened(browser: Browser, address: str, color_scheme: Scheme = "light") -> Iterator[Watched]:
    """Fails where the page threw, wrote an error, broke its policy or asked another host."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, timezone_id="UTC", color_scheme=color_scheme
    )
    context.set_default_timeout(SLOW_MS)
    page = context.new_page()
    watched = Watched(page, address)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on(
        "console",
        lambda said: watched.complaints.append(said.text) if said.type == "error" else None,
    )
    page.on("request", lambda request: watched.hosts.add(request.url.split("/")[2]))
    page.on("dialog", lambda dialog: watched.complaints.append(f"dialog: {dialog.message}"))
    try:
        yield watched
        assert watched.complaints == []
        assert watched.hosts <= {address.split("/")[2]}
    finally:
        page.unroute_all(behavior="ignoreErrors")  # it may ask on
        context.close()
