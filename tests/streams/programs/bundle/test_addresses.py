"""Which addresses a model event may name, and what is said of those that cannot be reached."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading

import pytest

from onward.streams.errors import ModelError
from onward.streams.programs.bundle.addresses import home_of, is_allowed
from onward.streams.programs.bundle.loader import load_bundle, read_manifest


@pytest.mark.parametrize(
    ("address", "is_good"),
    [
        ("/srv/models/loans-2/manifest.json", True),
        ("file:///srv/models/loans-2/manifest.json", True),
        ("/srv/models/../secrets/manifest.json", False),
        ("/srv/models-of-others/manifest.json", False),
        ("file:///etc/passwd", False),
        ("filecache::/srv/models/manifest.json", False),
        ("s3://bucket/loans/manifest.json", True),
        ("s3://bucket/loans/%2e%2e/cards/manifest.json", False),
        ("s3://bucket-of-others/loans/manifest.json", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("https://models.example/loans/v2/manifest.json", True),
        ("HTTPS://models.example/loans/v2/manifest.json", True),
        ("https://models.example/loans", True),
        ("https://models.example/secret", False),
        # What follows is read from elsewhere than a comparison of texts would say.
        ("https://elsewhere.example/../models.example/loans/manifest.json", False),
        ("https://elsewhere.example?/../models.example/loans/manifest.json", False),
        ("https://elsewhere.example#/../models.example/loans/manifest.json", False),
        ("https://models.example/secret?/../loans/manifest.json", False),
        ("https://models.example/secret#/../loans/manifest.json", False),
        ("https://models.example/loans/%252e%252e/secret", False),
        ("https://models.example/loans\\..\\..\\secret", False),
        ("https://models.example@elsewhere.example/loans/manifest.json", False),
        ("s3://elsewhere/../bucket/loans/manifest.json", False),
        ("file:/etc/passwd", False),
        ("local:/etc/passwd", False),
        ("~root/manifest.json", False),
        ("data:,{}", False),
    ],
)
def test_an_address_must_lie_in_an_allowed_place(address, is_good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = ["/srv/models", "s3://bucket/loans", "https://models.example/loans/", str(tmp_path)]
    assert is_allowed(address, places) == is_good


def test_a_link_does_not_lead_out(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "secret")
    assert not is_allowed(f"{tmp_path}/models/link/manifest.json", [f"{tmp_path}/models"])


def test_a_retrained_model_beside_the_first_one_is_allowed(tmp_path):
    first, second = tmp_path / "loans-1" / "manifest.json", tmp_path / "loans-2" / "manifest.json"
    assert is_allowed(str(second), [home_of(str(first))])


@pytest.mark.parametrize(
    ("first", "address", "is_good"),
    [
        ("/model/manifest.json", "/etc/passwd", False),
        ("/model/manifest.json", "/model/v2/manifest.json", True),
        ("/manifest.json", "/etc/passwd", False),
        ("https://models.example/v1/manifest.json", "https://models.example/uploads/manifest.json", False),
        ("https://models.example/v1/manifest.json", "https://models.example/v1/2/manifest.json", True),
        ("https://models.example/loans/v1/manifest.json", "https://models.example/loans/v2/manifest.json", True),
        ("https://models.example/loans/v1/manifest.json", "https://models.example/uploads/manifest.json", False),
        ("s3://models/loans/v1/manifest.json", "s3://models/loans/v2/manifest.json", True),
        ("s3://models/loans/v1/manifest.json", "s3://models/cards/v2/manifest.json", False),
        ("s3://models/v1/manifest.json", "s3://models/v2/manifest.json", False),
    ],
)
def test_by_default_models_come_from_beside_the_first_one_and_never_from_everywhere(first, address, is_good):
    assert is_allowed(address, [home_of(first)]) == is_good


class Redirecting(http.server.BaseHTTPRequestHandler):
    """Sends everybody to the address of the class."""

    target = ""

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", self.target)
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Counting(Redirecting):
    """Says nothing, and counts."""

    asked = 0

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET


@contextlib.contextmanager
def serving(handler):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_an_announced_model_is_not_read_from_where_its_server_redirects_to(monkeypatch):
    with serving(Counting) as inside, serving(Redirecting) as outside:
        monkeypatch.setattr(Redirecting, "target", f"{inside}/secret")
        monkeypatch.setattr(Counting, "asked", 0)
        with pytest.raises(ModelError, match=r"manifest\.json cannot be read: it redirects elsewhere"):
            load_bundle(f"{outside}/manifest.json", sha256="0" * 64, columns=())
    assert Counting.asked == 0


def test_a_server_that_is_not_there_is_no_missing_file():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"cannot be read: .*[Cc]onnect"):
        read_manifest(f"http://127.0.0.1:{port}/manifest.json")


def test_the_operators_own_model_may_be_redirected(monkeypatch):
    with serving(Counting) as inside, serving(Redirecting) as outside:
        monkeypatch.setattr(Redirecting, "target", f"{inside}/models/manifest.json")
        with pytest.raises(ModelError, match="not a model manifest"):
            load_bundle(f"{outside}/manifest.json", sha256=None, columns=(), redirects=True)
    assert Counting.asked
