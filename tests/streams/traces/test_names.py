"""Names are found however bytes hold them, and nobody else's."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import unicodedata
import zipfile
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.traces.names import Names

NAME = "Zoë/Smith 17"
TEXT = json.dumps({"application": NAME}, ensure_ascii=False).encode()


def zipped(content: bytes) -> bytes:
    """An archive, such as arrays and estimators are kept in."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member.json", content)
    return packed.getvalue()


FORMS = {
    "plain": TEXT,
    "escaped": json.dumps({"application": NAME}).encode(),
    "every letter escaped": "".join(f"\\u{ord(letter):04X}" for letter in NAME).encode(),
    "slashes escaped": TEXT.replace(b"/", b"\\/"),
    "letters and accents": unicodedata.normalize("NFD", NAME).encode(),
    "part of an id": b"outcome/Zo\xc3\xab%2FSmith 17/o-1",
    "base64": base64.b64encode(b'{"a":1,"b":' + TEXT),
    "base64 of a dead letter of a dead letter": base64.b64encode(b'{"value":"' + base64.b64encode(TEXT) + b'"}'),
    "base64 for urls": base64.urlsafe_b64encode(b"\xfb\xff\xfe" + TEXT).rstrip(b"="),
    "gzip": gzip.compress(TEXT),
    "zlib": zlib.compress(TEXT),
    "zstd": bytes(cramjam.zstd.compress(TEXT)),
    "lz4": bytes(cramjam.lz4.compress(TEXT)),
    "zip": zipped(TEXT),
    "gzip in base64 in JSON": b'{"value":"' + base64.b64encode(gzip.compress(TEXT)) + b'"}',
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_a_name_is_found(content):
    assert Names(["nobody", NAME]).found_in(content) == {1}


def test_a_longer_name_is_another():
    names = Names(["a-17", "ann"])
    assert names.found_in(b'{"application":"a-171","applicant":"joann","previous":"annette"}') == set()
    assert names.found_in(b"reward/loans/a-17 of ann.") == {0, 1}


def test_a_number_is_found_as_text_and_as_computers_hold_it():
    names = Names(["54321.25", "17"])
    assert names.found_in(b'{"income":54321.25}') == {0}
    assert names.found_in(struct.pack("<3d", 1.0, 54321.25, 17.0)) == {0}


@given(st.text(st.characters(categories=("L", "N")), min_size=6, max_size=20), st.binary(max_size=50))
def test_any_name_is_found_in_base64_and_escapes(name, before):
    quoted = json.dumps(name).encode()
    names = Names([name])
    assert names.found_in(quoted) == names.found_in(base64.b64encode(before + b'"' + name.encode() + b'"')) == {0}


@given(st.binary(max_size=2000))
def test_any_bytes_can_be_searched(content):
    assert Names(["a name that is nowhere"]).found_in(content) == set()
    for mark in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\x78\x9c"):
        assert Names(["a name that is nowhere"]).found_in(mark + content) == set()
