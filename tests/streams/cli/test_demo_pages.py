"""``onward demo --pages``: when the run has ended its pages stay, until Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


def page_with(address: str, text: str) -> str:
    """The page of an address once it holds a text."""
    page = ""
    while text not in page:
        try:
            with urllib.request.urlopen(address) as response:
                page = response.read().decode()
        except urllib.error.HTTPError as error:
            page = error.read().decode()
        time.sleep(0.2)
    return page


def test_links_lead_to_pages_until_it_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "onward", "demo", "--pages", "--json", "--policies", "protoar"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--people", "40"], cwd=tmp_path, text=True, **pipes) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        told: dict[str, str] = {}
        for line in demo.stderr:
            who, _, address = line.strip().partition(": http")
            told |= {who: f"http{address}"} if address else {}
            if line.startswith("Ctrl-C"):
                break
        assert list(told)[:2] == ["somebody who has just applied", "somebody with ways forward"]
        for who, address in told.items():
            if who != "the office":
                assert "has an answer for you" in page_with(address, "has an answer for you")
        office = page_with(f"{told['the office']}/cases?queue=outcome", "one-more")
        assert "These people are made up." in office
        demo.send_signal(signal.SIGTERM)
        printed, _ = demo.communicate()
        assert demo.returncode == 0
    assert json.loads(printed)["applications"] == 40
