"""The report in a real browser: it shows, sorts, opens details, and fits a phone."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from postel.report.page import Page
from postel.report.pictures import Picture
from report.samples import SIX, cell, study_of
from support import lacking

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: A picture of one pixel.
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8A"
    "AAAASUVORK5CYII="
)
WIDTHS = (390, 1280)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        lacking("browser", "chromium and chromedriver are not both installed")
    if importlib.util.find_spec("selenium") is None:
        lacking("browser", "selenium is not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report of three datasets and two backbones, one method of which was not run with one of them."""
    cells = [
        cell(dataset, backbone, method)
        for dataset in ("cora", "texas", "cornell")
        for backbone in ("gcn", "mlp")
        for method in SIX
        if (backbone, method) != ("mlp", "als")
    ]
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(Page(study_of(*cells), pictures=[Picture("figure-toy", PIXEL)]).html())
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Any:
    """The report, freshly opened in a window of the asked width."""
    width = getattr(request, "param", 1280)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    # Readers who want no motion get none; here it would carry an element away from under a click.
    still = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", still)
    browser.get("about:blank")
    browser.get(address)
    browser.get_log("browser")
    return browser


def find(page: Any, selector: str) -> Any:
    return page.find_element("css selector", selector)


def click(page: Any, element: Any) -> None:
    """A click in the middle of the window, away from the line of sections at its top."""
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def column(page: Any, key: str) -> list[str]:
    """The values of a column of the first table from the top, hidden rows left out."""
    script = """
      const rows = [...document.querySelector('.matrix').tBodies[0].rows].filter((row) => row.offsetParent);
      return rows.map((row) => row.querySelector(`[data-k="${arguments[0]}"]`).dataset.v);
    """
    values: list[str] = page.execute_script(script, key)
    return values


def numbers(values: list[str]) -> list[float]:
    return [float(value) for value in values if value]


def fits(page: Any) -> bool:
    """Whether nothing is wider than the window; a phone's own width is the client's, not the inner one."""
    fits: bool = page.execute_script("const e = document.documentElement; return e.scrollWidth <= e.clientWidth")
    return fits


def complaints(page: Any) -> list[Any]:
    return [entry for entry in page.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]


@pytest.mark.parametrize("page", WIDTHS, indirect=True)
def test_it_shows_without_a_complaint_or_sideways_scrolling(page: Any) -> None:
    page.refresh()
    assert find(page, "h1").text == "Soft labels: report of a study"
    assert find(page, ".matrix tr:not(.unrun) td:not(.unrun) .not").text == "not run"
    page.execute_script("document.querySelector('.whole').click()")
    for anchor in ("results", "standings", "cells", "figures", "methods", "reading", "provenance"):
        find(page, f"#{anchor} h2")
    assert fits(page)
    assert page.execute_script("return document.querySelector('figure img').naturalWidth") == 1
    assert complaints(page) == []


def test_a_click_sorts_a_column_and_another_turns_it_round(page: Any) -> None:
    header = find(page, '.matrix .sort[data-key="texas"]')
    before = column(page, "texas")
    click(page, header)
    down = column(page, "texas")
    assert numbers(down) == sorted(numbers(before), reverse=True) != numbers(before)
    assert down[-1] == ""  # what was not run stays last
    assert find(page, ".matrix [aria-sort]").get_attribute("aria-sort") == "descending"
    click(page, header)
    up = column(page, "texas")
    assert numbers(up) == sorted(numbers(before)) and up[-1] == ""
    assert complaints(page) == []


def test_the_keyboard_sorts_and_opens_and_closes_a_detail(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    header = find(page, '.matrix .sort[data-key="cora"]')
    header.send_keys(Keys.ENTER)
    assert numbers(column(page, "cora")) == sorted(numbers(column(page, "cora")), reverse=True)
    cell = find(page, ".matrix .open")
    cell.send_keys(Keys.ENTER)
    assert find(page, "#detail").is_displayed()
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not find(page, "#detail").is_displayed()
    assert page.switch_to.active_element == cell  # the reader goes on where they were
    assert complaints(page) == []


@pytest.mark.parametrize("page", WIDTHS, indirect=True)
def test_a_click_opens_a_detail_with_all_its_parts(page: Any) -> None:
    row = next(
        one
        for one in page.find_elements("css selector", "#list tbody tr")
        if "Texas" in one.text and "GCN · PosteL" in one.text
    )
    button = row.find_element("css selector", ".open")
    click(page, button)
    detail = find(page, "#detail")
    assert find(page, "#detail-title").text == "Texas · GCN · PosteL"
    for part in (
        "Accuracy of every split",
        "Paired difference to one-hot",
        "Chosen settings",
        "Loss on hard labels",
    ):
        assert part in detail.text
    assert len(detail.find_elements("css selector", "svg")) == 3
    assert len(detail.find_elements("css selector", ".heat table")) == 2
    assert "up to" not in detail.text and "16 trials, 3 search splits" in detail.text
    assert page.execute_script("const d = arguments[0]; return d.scrollWidth <= d.clientWidth", detail)
    assert fits(page)
    page.back()
    assert not detail.is_displayed()
    assert complaints(page) == []


def test_filters_and_the_second_line(page: Any) -> None:
    from selenium.webdriver.support.select import Select

    Select(find(page, '[data-filter="dataset"]')).select_by_visible_text("Texas")
    assert find(page, "#shown").text == "11 of 33 shown"
    second = find(page, ".matrix .second.gap")
    assert not second.is_displayed()
    click(page, find(page, 'input[value="gap"]'))
    assert second.is_displayed()
    assert len(column(page, "texas")) == 12
    click(page, find(page, ".whole"))
    assert len(column(page, "texas")) == 48
    assert complaints(page) == []


def test_an_address_of_a_cell_opens_it(page: Any, address: str) -> None:
    page.get("about:blank")
    page.get(f"{address}#cell-3")
    assert find(page, "#detail-title").text == "Cora · GCN · SALS"
    find(page, "#close").click()
    assert not find(page, "#detail").is_displayed()
