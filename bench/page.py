"""How quick the page is: first paint, zooming and panning, from brush to flame graph.

    python -m bench.page [--quick]

In the system's Chromium without a graphics card, 1440 × 900, on the 96-core 12 h recording and on
1.1 M samples of two minutes. Then the server's own time for each question, by its Server-Timing.
A frame is late that came more than 1.5 periods of 60 Hz after the one before; script is the main
thread's work in one frame, which is what the page can be blamed for on a machine that others use.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from bench._page import ARGUMENTS, CHROMIUM, served
from bench.machine import describe
from bench.query import build
from bench.synthetic import START_WALL_NS, Burst, make_node, make_segment
from exhume.store.writer import write_segment

START = START_WALL_NS / 1e9
RUNS = 5
STEPS = 90
FRAME_MS = 1000 / 60
BURST = Burst(39, 60.0, 5.0)
GUTTER, RIGHT = 104, 14
"""Of the timeline at this size: see ui/src/timeline/geometry.ts."""
_FRAMES = """
() => new Promise((done) => {
  window.__frames = []
  let last = performance.now()
  const step = (now) => {
    window.__frames.push(now - last)
    last = now
    if (!window.__stop) requestAnimationFrame(step)
  }
  window.__stop = false
  requestAnimationFrame(step)
  done(0)
})
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.page", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an hour instead of twelve")
    args = parser.parse_args()
    print(describe(), "", sep="\n")
    hours = 1 if args.quick else 12
    with TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        night = Path(directory) / "night"
        build(night, make_segment(make_node(96), 600.0, burst=BURST), hours * 6)
        measure(browser, night, f"96 cores, {hours} h", hours * 3600, (hours * 6 - 2) * 600 + 60)
        million = Path(directory) / "million"
        data = make_segment(make_node(96), 120.0, burst=BURST)
        write_segment(million, data)
        measure(browser, million, f"{len(data.samples):,} samples, 2 min", 120, 60)
        browser.close()
    return 0


def measure(browser: Browser, data: Path, title: str, seconds: float, hot: float) -> None:
    """`hot`: the second in which the burst begins."""
    with served(data) as address:
        print(f"{title}; ms, best / median of {RUNS}")
        print(f"  {'':34}{'measured':>18}{'target':>9}")
        first_paint(browser, address)
        page, tool = opened(browser, f"{address}?axis={START:.3f}-{START + seconds:.3f}")
        frames(page, tool, "zoom by wheel", lambda page, _: page.mouse.wheel(0, -60))
        frames(page, tool, "pan by wheel", wheel)
        page.context.close()
        brush(browser, address, hot)
        print("  the server's own time")
        for name, path in asked(seconds, hot):
            times = [server_ms(address + path) for _ in range(RUNS)]
            shown = f"{min(times):.1f} / {statistics.median(times):.1f}"
            print(f"  {name:34}{shown:>18}")
    print(flush=True)


def wheel(page: Page, number: int) -> None:
    """To and fro, so that it stays within the recording."""
    page.mouse.wheel(60 if number % 40 < 20 else -60, 0)


def opened(browser: Browser, address: str) -> tuple[Page, CDPSession]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="UTC")
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector('canvas[data-lane="map"]')
    page.wait_for_timeout(1500)
    tool = context.new_cdp_session(page)
    tool.send("Performance.enable")
    return page, tool


def first_paint(browser: Browser, address: str) -> None:
    paint, drawn = [], []
    for _ in range(RUNS):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(address)
        paint.append(mark(page, "first-contentful-paint"))
        drawn.append(mark(page, "exhume:map"))
        context.close()
    row("first contentful paint", paint, 1000)
    row("map of the whole recording drawn", drawn, 1000)


def mark(page: Page, name: str, after: float = 0.0) -> float:
    """When it happened, in ms since the page was asked for."""
    for _ in range(1500):
        found: float | None = page.evaluate(
            "name => performance.getEntriesByName(name).at(-1)?.startTime ?? null", name
        )
        if found is not None and found > after:
            return found
        page.wait_for_timeout(10)
    raise TimeoutError(name)


def frames(page: Page, tool: CDPSession, name: str, act: Callable[[Page, int], object]) -> None:
    box = page.locator('canvas[data-lane="map"]').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    page.evaluate(_FRAMES)
    before = metrics(tool)
    for number in range(STEPS):
        act(page, number)
    after = metrics(tool)
    taken: list[float] = page.evaluate("() => { window.__stop = true; return window.__frames }")
    script = (after["ScriptDuration"] - before["ScriptDuration"]) * 1e3 / max(1, len(taken))
    late = sum(frame > 1.5 * FRAME_MS for frame in taken) / max(1, len(taken))
    ordered = sorted(taken)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(
        f"  {name:34}{f'{ordered[0]:.1f} / {statistics.median(taken):.1f}':>18}{FRAME_MS:9.1f}"
        f"   p95 {p95:.1f}, late {100 * late:.0f} %, script {script:.1f} a frame,"
        f" {len(taken)} frames"
    )


def metrics(tool: CDPSession) -> dict[str, float]:
    found = tool.send("Performance.getMetrics")["metrics"]
    return {entry["name"]: entry["value"] for entry in found}


def brush(browser: Browser, address: str, hot: float) -> None:
    """Five seconds of all cores, dragged over on the map."""
    took = []
    for run in range(RUNS):
        # Another place each time: what was brushed before is known to the server.
        begin = START + hot - run * 0.21
        page, _ = opened(browser, f"{address}?axis={begin - 30:.3f}-{begin + 30:.3f}")
        box = page.locator('canvas[data-lane="map"]').bounding_box()
        assert box is not None
        scale = (box["width"] - GUTTER - RIGHT) / 60
        x, y = box["x"] + GUTTER + 30 * scale, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 5 * scale, y)
        now: float = page.evaluate("performance.now()")
        page.mouse.up()
        took.append(mark(page, "exhume:flame", now) - now)
        page.context.close()
    row("from brush to flame graph, 5 s", took, None)


def row(name: str, values: list[float], target: float | None) -> None:
    shown = f"{min(values):.0f} / {statistics.median(values):.0f}"
    print(f"  {name:34}{shown:>18}{'' if target is None else f'{target:9.0f}'}", flush=True)


def asked(seconds: float, hot: float) -> list[tuple[str, str]]:
    whole = {"start": START, "end": START + seconds}
    five = {"start": START + hot, "end": START + hot + 5}
    minute = {"start": START + hot - 30, "end": START + hot + 30}

    def path(name: str, **query: object) -> str:
        return f"api/{name}?{urllib.parse.urlencode(query)}"

    return [
        ("recording", path("recording")),
        ("core map, all, 1,200 columns", path("cores", **whole, columns=1200)),
        ("core map, a tile of 512 s", path("cores", start=START, end=START + 512, columns=512)),
        ("core map by samples, 4 s", path("cores", start=START, end=START + 4, columns=512)),
        ("marks, all", path("marks", **whole, columns=150)),
        ("gauge, all", path("gauge/self.cpu_ns", **whole, columns=1200)),
        ("core times, 5 s", path("core-times", **five)),
        ("flame, 5 s", path("flame", **five)),
        ("flame, 5 s of one core", path("flame", **five, core=39)),
        ("flame, 5 s, callers", path("flame", **five, focus="cpumask_next", shape="callers")),
        ("diff to the 5 s before", path("diff", **five)),
        ("diff to everything", path("diff", **five, base="whole")),
        ("sub-second map, 1 min", path("sub-second", **minute)),
        ("who ran, 5 s", path("who-ran", **five)),
        ("top, 5 s", path("top", **five)),
        ("samples, 5 s", path("samples", **five)),
        ("who, one core, one instant", path("who", at=START + hot, core=39)),
        ("events, 1 min", path("events", **minute)),
        ("units, 1 min", path("units", **minute)),
        ("zombies, all", path("zombies", **whole)),
    ]


def server_ms(address: str) -> float:
    with urllib.request.urlopen(address, timeout=120) as answer:
        json.load(answer)
        timing = answer.headers["server-timing"]
    return sum(float(value) for value in re.findall(r"dur=([\d.]+)", timing))


if __name__ == "__main__":
    sys.exit(main())
