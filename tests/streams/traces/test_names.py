"""Names are found however bytes hold them, and nobody else's."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import random
import struct
import unicodedata
import zipfile
import zlib
from functools import reduce
from urllib.parse import quote, quote_plus

import cramjam
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.streams.traces.names import UNSEARCHED, Names

NAME = "Zoë/Smith 17"
TEXT = json.dumps({"application": NAME}, ensure_ascii=False).encode()


def zipped(content: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive, such as arrays and estimators are kept in."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as archive:
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
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps({"application": NAME}))).encode(),
    "a new line of JSON before it": json.dumps(f"first\n{NAME}").encode(),
    "a space of an address before it": b"by%20Zo%C3%AB%2FSmith%2017",
    "percent twice": quote(quote(NAME, safe="")).encode(),
    "a form of an address": quote_plus(NAME).encode(),
    "bytes as Python prints them": repr(TEXT).encode(),
    "a colour of a terminal before it": b"\x1b[31mZo\xc3\xab/Smith 17\x1b[0m",
    "digits": TEXT.hex().encode(),
    "UTF-16": TEXT.decode().encode("utf-16"),
    "UTF-16 without a mark": TEXT.decode().encode("utf-16-be"),
    "Latin-1": TEXT.decode().encode("latin-1"),
    "lines of base64": base64.encodebytes(b"x" * 50 + TEXT),
    "base64 with escaped slashes": base64.b64encode(b"\xff\xff\xff" + TEXT).replace(b"/", b"\\/"),
    "bzip2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "snappy": bytes(cramjam.snappy.compress(TEXT)),
    "two gzip streams": gzip.compress(b"first") + gzip.compress(TEXT),
    "behind a gzip stream": gzip.compress(b"first") + base64.b64encode(TEXT),
    "a zip archive with bzip2": zipped(TEXT, zipfile.ZIP_BZIP2),
    "gzip 50 times": reduce(lambda packed, _: gzip.compress(packed), range(50), TEXT),
    "gzip in base64 in JSON": b'{"value":"' + base64.b64encode(gzip.compress(TEXT)) + b'"}',
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_a_name_is_found(content):
    assert Names(["nobody", NAME]).found_in(content) == {1}


def test_a_longer_name_is_another():
    names = Names(["a-17", "ann"])
    assert names.found_in(b'{"application":"a-171","applicant":"joann","previous":"annette"}') == set()
    assert names.found_in(b"reward/loans/a-17 of ann.") == {0, 1}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("王小明", "客户王小明来电"),
        ("王小明", "客户王小明VIP"),
        ("Zoë Smith", "Kundin „Zoë Smith“ rief an"),
        ("p-9", "编号p-9，投诉"),
        ("p-9", "p-9—again"),
        ("Ana", "Señora Ana’s file"),
    ],
)
def test_a_name_beside_what_is_not_ascii_is_found(name, text):
    for content in (text.encode(), json.dumps({"note": text}).encode(), base64.b64encode(text.encode())):
        assert Names(["nobody", name]).found_in(content) == {1}


@pytest.mark.attack
@pytest.mark.parametrize("size", [3, 36, 48, 57, 65, 90, 97, 122, 300])
def test_a_name_in_bytes_that_divide_no_words_is_found(size):
    """In MessagePack and the like the length before a name, or a number after it, is a byte that may be a letter."""
    name = ("p-" + "0f0e6d2c" * size)[:size]
    names = Names(["nobody", name])
    for number in (0, ord("0"), ord("z")):
        assert names.found_in(msgspec.msgpack.encode(["x", name, number])) == {1}
    if size < 128:
        # Protocol buffers, and Avro: nothing but letters may stand around it.
        assert names.found_in(b"\n%c%s2" % (size, name.encode())) == {1} or size < ord("0")
        assert names.found_in(b"%c%s" % (2 * size % 256, name.encode())) == {1}


@pytest.mark.attack
def test_bytes_that_are_only_taken_for_base64_hold_no_short_name_by_chance():
    words = b" ".join(base64.b64encode(random.Random(0).randbytes(600)) for _ in range(200))
    shorts = Names([f"{letter}-{digit}" for letter in "abcdefgh" for digit in range(10)])
    assert shorts.found_in(words) == set()


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
    assert Names(["a name that is nowhere"]).found_in(content) <= {UNSEARCHED}
    for mark in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\x78\x9c"):
        assert Names(["a name that is nowhere"]).found_in(mark + content) <= {UNSEARCHED}
