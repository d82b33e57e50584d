import io
import json
import logging

from onward.streams.worker import logs


def test_json_lines_hold_ids_and_leave_out_everything_else() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    extra = {"program": "loans", "offset": 12, "features": {"income": 31_000}, "income": 31_000}
    logging.getLogger("onward.streams.engine.process").info("chunk %s", "committed", extra=extra)
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "onward.streams.engine.process",
        "message": "chunk committed",
        "program": "loans",
        "offset": 12,
    }


def test_an_exception_stays_on_its_line() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    try:
        raise ValueError("no\nway")
    except ValueError:
        logging.getLogger("onward").exception("stopped")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError: no\nway" in json.loads(line)["exception"]


def test_libraries_log_from_warnings_on_and_onward_from_its_level_on() -> None:
    stream = io.StringIO()
    logs.configure("debug", "text", stream)
    logging.getLogger("aiokafka").info("chatter")
    logging.getLogger("faust").warning("trouble")
    logging.getLogger("onward").debug("detail", extra={"partition": 3})
    lines = [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]
    assert lines == ["WARNING faust: trouble", "DEBUG onward: detail partition=3"]


def test_a_repeated_line_of_a_library_passes_once_in_thirty_seconds() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    for name, second in [("faust", 0), ("faust", 1), ("onward.x", 1), ("onward.x", 2), ("faust", 29.9), ("faust", 30)]:
        line = logging.LogRecord(name, logging.WARNING, "", 0, "%s is gone at %s", ("topic", name), None)
        line.created = 1_000_000.0 + second
        logging.getLogger(name).handle(line)
    passed = [line.split()[2].rstrip(":") for line in stream.getvalue().splitlines()]
    assert passed == ["faust", "onward.x", "onward.x", "faust"]


def test_tracebacks_and_broken_lines_are_never_repeats(monkeypatch) -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    for reason in ("first", "second"):
        try:
            raise ValueError(reason)
        except ValueError:
            logging.getLogger("faust").exception("crashed")
    logging.getLogger("faust").warning("%d records", "many")
    assert [word for word in ("first", "second", "many") if word in stream.getvalue()] == ["first", "second"]
