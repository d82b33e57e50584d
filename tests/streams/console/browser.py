"""A browser that looks at pages: what axe finds, what is hard to press, and what does not fit."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium")
CHROMIUM_IS_THERE = pytest.mark.skipif(
    CHROMIUM is None, reason="needs the program chromium (Debian: apt-get install chromium; .ci/run unpacks it)"
)
PATIENCE_MS = 300_000
"""How long a browser is waited for where processors are busy."""
WIDTHS = (320, 390, 1280)
SCHEMES = ("light", "dark")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on colours. They do not on widths, and take most of the time."""
TALL = 12_000
"""A window so high that every part of a page is in it."""
AXE = """async rules => {
  const options = {resultTypes: ["violations"], ...rules};
  const found = (await axe.run(options)).violations;
  return found.flatMap(one => one.nodes.map(node => `${one.id}: ${node.target} ${node.failureSummary}`));
}"""
FITS = """() => {
  const root = document.documentElement;
  if (root.scrollHeight > innerHeight) return ["the page is higher than the window of the test"];
  return root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} px wide`] : [];
}"""
# What a press reaches, straight up and down from the middle: a label counts for its control, wherever it lies.
PRESSED = """least => {
  const reaches = (control, x, y) => {
    const top = document.elementFromPoint(x, y);
    return top !== null && (control.contains(top) || [...(control.labels ?? [])].some(label => label.contains(top)));
  };
  const stands_in_text = one => one.matches("a") && getComputedStyle(one).display === "inline"
    && one.parentElement.textContent.trim() !== one.textContent.trim();
  const faults = [];
  for (const one of document.querySelectorAll("a[href], button, summary, select, textarea, input:not([type=hidden])")) {
    const {left, right, top, bottom} = one.getBoundingClientRect();
    const x = (left + right) / 2, y = (top + bottom) / 2;
    if (!one.checkVisibility() || right < 0 || left > innerWidth || stands_in_text(one)) continue;
    let [up, down] = [0, 0];
    while (up < least && reaches(one, x, y - up - 1)) up++;
    while (down < least && reaches(one, x, y + down + 1)) down++;
    if (up + down + 1 < least) faults.push(`${up + down + 1} px high: ${one.outerHTML.slice(0, 90)}`);
  }
  return faults;
}"""
# Each element with all that it stands in, as the stylesheet knows them.
PARTS = """() => {
  const own = one => `${one.localName}.${one.className} ${one.getAttribute("aria-current")} ${one.checked}`;
  const all = one => one === document.body ? own(one) : `${all(one.parentElement)} > ${own(one)}`;
  return [...document.body.querySelectorAll("*")].map(all);
}"""
OPEN = "() => document.querySelectorAll('details').forEach(one => one.open = true)"
CONTROLS = """() => [...document.querySelectorAll("form, button, input, select, textarea")]
  .filter(one => one.checkVisibility()).map(one => one.outerHTML)"""


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=CHROMIUM, timeout=PATIENCE_MS) as browser,
    ):
        yield browser


@asynccontextmanager
async def a_page(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """A page with cookies of its own."""
    async with await browser.new_context(**options) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield await context.new_page()


@asynccontextmanager
async def looking(browser: Browser, address: str) -> AsyncIterator[Page]:
    """A page that knows axe, and shows what stands at an address or what it is given in its place."""
    async with a_page(browser, bypass_csp=True) as page:
        await page.goto(address)
        await page.evaluate(AXE_SCRIPT)
        yield page


async def show(page: Page, html: str) -> None:
    """Show a page of the site in the place of the one before, whose scripts stay."""
    await page.set_content(html)
    await page.evaluate(OPEN)


async def faults(page: Page, least: int, seen: set[str] | None = None) -> list[str]:
    """What is wrong with a page at any width; what can be pressed is ``least`` px high.

    Colours are looked at where a part of it is not ``seen`` yet; without ``seen`` axe looks on a telephone alone.
    """
    found = []
    rules = {rule: {"enabled": False} for rule in COLOURS} | {"target-size": {"enabled": True}}
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": TALL})
        wrong = [*await page.evaluate(FITS), *await page.evaluate(PRESSED, least)]
        if seen is not None or width == WIDTHS[0]:
            wrong += await page.evaluate(AXE, {"rules": rules})
        found += [f"at {width} px: {one}" for one in wrong]
    if seen is not None and (parts := set(await page.evaluate(PARTS))) - seen:
        seen |= parts
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            found += [f"{scheme}: {one}" for one in await page.evaluate(AXE, {"runOnly": COLOURS})]
    return found


async def faults_anywhere(page: Page) -> list[str]:
    """What axe finds at every width, in light and in dark."""
    found = []
    for width, scheme in product(WIDTHS, SCHEMES):
        await page.set_viewport_size({"width": width, "height": TALL})
        await page.emulate_media(color_scheme=scheme)
        rules = {"target-size": {"enabled": True}}
        found += [f"{width} px, {scheme}: {one}" for one in await page.evaluate(AXE, {"rules": rules})]
    return found


async def printed_controls(page: Page) -> list[str]:
    """The form controls that stand on a page when it is printed."""
    await page.emulate_media(media="print")
    found: list[str] = await page.evaluate(CONTROLS)
    await page.emulate_media(media="screen")
    return found
