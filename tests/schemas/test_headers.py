import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.headers import CloudEvent, Problem, cloud_event_headers, format_time, parse_time, read_headers
from onward.schemas.kinds import ce_type, kinds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS = -62_135_596_800_000
LAST_MS = 253_402_300_799_999
TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=200)


def test_every_event_has_a_type():
    assert all(kinds.by_type[kind.ce_type] is kind for kind in kinds)
    assert ce_type(Recourse) == ce_type(NoRecourse) == "onward.recourse.v1"


@given(TEXTS, TEXTS, st.integers(FIRST_MS, LAST_MS))
def test_headers_read_back_what_was_written(identity, source, time_ms):
    headers = cloud_event_headers(identity, source, "onward.tick.v1", time_ms)
    assert read_headers(headers) == CloudEvent(identity, source, "onward.tick.v1", time_ms)
    assert headers[0] == ("ce_specversion", b"1.0")
    assert headers[-1] == ("content-type", b"application/json")


def test_only_the_id_must_be_given():
    assert read_headers([("other", None), ("ce_id", b"7")]) == CloudEvent("7", None, None, None)


@pytest.mark.parametrize(
    ("headers", "reason", "detail"),
    [
        ([], "missing_header", "ce_id: missing"),
        ([("ce_id", None)], "missing_header", "ce_id: missing"),
        ([("ce_id", b"")], "malformed_header", "ce_id: must have 1 to 200"),
        ([("ce_id", b"x" * 201)], "malformed_header", "ce_id: must have 1 to 200"),
        ([("ce_id", b"\xff")], "malformed_header", "ce_id: must be UTF-8"),
        ([("ce_id", b"a\nb")], "malformed_header", "ce_id: holds a control"),
        ([("ce_id", b"a"), ("ce_id", b"b")], "malformed_header", "ce_id: given more than once"),
        ([("ce_id", b"a"), ("ce_specversion", b"2.0")], "malformed_header", "ce_specversion: must be 1.0"),
        ([("ce_id", b"a"), ("ce_source", b"")], "malformed_header", "ce_source: must have"),
        ([("ce_id", b"a"), ("ce_type", b"\x00")], "malformed_header", "ce_type: holds a control"),
        ([("ce_id", b"a"), ("ce_time", b"yesterday")], "malformed_header", "ce_time: must be an RFC 3339 time"),
    ],
)
def test_a_bad_header_is_a_problem(headers, reason, detail):
    problem = read_headers(headers)
    assert isinstance(problem, Problem)
    assert problem.reason == reason
    assert problem.detail.startswith(detail)


@given(st.lists(st.tuples(st.sampled_from(["ce_id", "ce_time", "ce_type", "x"]), st.none() | st.binary(max_size=30))))
def test_no_headers_raise(headers):
    assert isinstance(read_headers(headers), CloudEvent | Problem)


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.sampled_from("Tt"),
    st.integers(0, 6),
)
def test_times_agree_with_the_calendar(moment, offset_minutes, separator, digits):
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    sign = "-" if offset_minutes < 0 else "+"
    zone = f"{sign}{abs(offset_minutes) // 60:02d}:{abs(offset_minutes) % 60:02d}"
    text = f"{moment:{'%Y'}}".zfill(4) + f"{moment:-%m-%d}{separator}{moment:%H:%M:%S}{fraction}{zone}"
    written = (moment.replace(microsecond=0, tzinfo=UTC) - timedelta(minutes=offset_minutes) - EPOCH) // timedelta(
        milliseconds=1
    )
    milliseconds = int((fraction[1:] or "0").ljust(3, "0")[:3])
    assert parse_time(text.encode()) == written + milliseconds


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_timestamp_can_be_written(time_ms):
    text = format_time(time_ms)
    assert len(text) == 24
    assert parse_time(text.encode()) == min(max(time_ms, FIRST_MS), LAST_MS)


def test_times_known_by_hand():
    assert format_time(1_795_250_940_123) == "2026-11-21T08:49:00.123Z"
    assert parse_time(b"2016-12-31T23:59:60Z") == parse_time(b"2017-01-01T00:00:00Z")
    assert parse_time(b"2026-11-21T08:49:00.9999999Z") % 1000 == 999


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21",
        "2026-11-21T08:49:00",
        "2026-02-30T08:49:00Z",
        "2026-11-21T24:00:00Z",
        "20261121T084900Z",
        "2026-11-21 08:49:00.123Z",
        "2026-11-21T08:49:00.1é3Z",
        "9999-12-31T23:59:59-01:00",
        "2026-11-21T08:49:00.123Z\n",
    ],
)
def test_what_is_not_rfc_3339_is_refused(text):
    with pytest.raises(ValueError, match="time"):
        parse_time(text.encode())


def test_times_of_any_length_leave_nothing_behind():
    tracemalloc.start()
    try:
        for number in range(50):
            assert parse_time(b"2026-11-21T08:49:00.%d" % (10**5 + number) + b"0" * 50_000 + b"Z") % 1000 == 100
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 500_000
