from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from exhume.web.page import is_built
from tests.ui.browser import ARGUMENTS, CHROMIUM, Watched, opened, served
from tests.ui.story import written


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No file takes as long as the page's: first, or the others are done and one core waits."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)


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


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="session")
def address(data: Path, browser: Browser) -> Iterator[str]:
    with served(data) as found:
        yield found


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Watched]:
    with opened(browser, address) as watched:
        yield watched
