"""A browser without a network, for pages that must need none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Debian's Chromium, which can resolve no name."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


class Tab:
    """Opens pages from files and says what the browser complained about."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, path: Path, *, width: int = 1000) -> None:
        self.driver.get_log("browser")  # what an earlier page left
        self.driver.set_window_size(width, 900)
        self.driver.get(path.as_uri())

    def complaints(self) -> list[str]:
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]

    def run(self, script: str) -> object:
        return self.driver.execute_script(script)


@pytest.fixture
def tab(browser: webdriver.Chrome) -> Tab:
    """A tab of the browser."""
    return Tab(browser)
