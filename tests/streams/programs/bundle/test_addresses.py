"""Which addresses a model event may name, and what is said of those that cannot be reached."""

from __future__ import annotations

import socket

import pytest

from onward.streams.errors import ModelError
from onward.streams.programs.bundle.addresses import home_of, is_allowed
from onward.streams.programs.bundle.loader import read_manifest


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
    ],
)
def test_an_address_must_lie_in_an_allowed_place(address, is_good):
    assert is_allowed(address, ["/srv/models", "s3://bucket/loans"]) == is_good


def test_a_link_does_not_lead_out(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "secret")
    assert not is_allowed(f"{tmp_path}/models/link/manifest.json", [f"{tmp_path}/models"])


def test_a_retrained_model_beside_the_first_one_is_allowed(tmp_path):
    first, second = tmp_path / "loans-1" / "manifest.json", tmp_path / "loans-2" / "manifest.json"
    assert is_allowed(str(second), [home_of(str(first))])


def test_a_server_that_is_not_there_is_no_missing_file():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"cannot be read: .*[Cc]onnect"):
        read_manifest(f"http://127.0.0.1:{port}/manifest.json")
