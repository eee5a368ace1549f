"""Makes the pictures of the README: the page on the night of the incident, in docs/images/.

python ui/screenshots.py            records the night of lab.incident, or …
python ui/screenshots.py --data DIR an own recording with a case
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from bench._page import ARGUMENTS, CHROMIUM, served  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SEED = "7"
WAIT_SECONDS = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="instead of lab.incident's night")
    args = parser.parse_args()
    with TemporaryDirectory() as directory, sync_playwright() as playwright:
        data = args.data or incident(Path(directory))
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        with served(data) as address:
            pictures(browser, address)
        browser.close()
    return 0


def incident(folder: Path) -> Path:
    files, data = folder / "files", folder / "data"
    run = [sys.executable, "-m"]
    subprocess.run([*run, "lab.incident", str(files), "--seed", SEED], check=True, cwd=ROOT)
    subprocess.run([*run, "exhume", "import", str(files), "--into", str(data)], check=True)
    return data


def pictures(browser: Browser, address: str) -> None:
    found = worst_case(address)
    begin, end = found["symptom"]["window"]["start"], found["symptom"]["window"]["end"]
    core = next((e["figures"]["core"] for e in found["evidence"] if "core" in e["figures"]), None)
    on_core = "" if core is None else f"&core={core:g}"
    around = f"axis={begin - 150}-{end + 90}"
    brushed = f"pick={begin - 6}-{end + 1}"
    IMAGES.mkdir(exist_ok=True)
    shot(browser, address, "night", "?utc=1", "light")
    shot(browser, address, "burst", f"?utc=1&{around}&{brushed}{on_core}", "dark")
    shot(browser, address, "case", f"?utc=1&view=case&case={found['id']}", "light")


def worst_case(address: str) -> dict[str, Any]:
    """The page would ask for it too; so it is there when the pictures are taken."""
    with urllib.request.urlopen(f"{address}api/recording") as answer:
        window = json.load(answer)["window"]
    end = int(window["end"] // 60 * 60)
    for limit in (5, 1):
        query = f"start={window['start']:.6f}&end={end}&limit={limit}"
        with urllib.request.urlopen(f"{address}api/cases?{query}", timeout=600) as answer:
            (first, *_) = json.load(answer)["cases"]
    return {**first["case"], "id": first["id"]}


def shot(browser: Browser, address: str, name: str, query: str, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": 1360, "height": 850},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(address + query)
    settle(page)
    page.screenshot(path=IMAGES / f"{name}.png")
    print(f"docs/images/{name}.png")
    context.close()


def settle(page: Page) -> None:
    """Until nothing is under way."""
    deadline = time.monotonic() + WAIT_SECONDS
    page.wait_for_timeout(1500)
    while page.locator(".loading, .stale, [aria-busy=true]").count():
        assert time.monotonic() < deadline, "the page is still loading"
        page.wait_for_timeout(300)
    page.wait_for_timeout(1500)


if __name__ == "__main__":
    sys.exit(main())
