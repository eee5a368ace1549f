from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from exhume.web.page import is_built
from tests.ui.browser import ARGUMENTS, CHROMIUM


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip("no Chromium here; apt-packages.txt names it")
    if not is_built():
        pytest.skip("the page is not built here: `make page` needs Node.js 20.19 or newer")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        yield started
        started.close()
