"""The command of the fault suite: what cannot be run is told in one line before anything is begun."""

from __future__ import annotations

import pytest

from onward.faults import command
from onward.faults.__main__ import main
from onward.faults.suite import summary


@pytest.fixture
def began(monkeypatch):
    """The folders in which runs began, each of which is interrupted at once."""
    folders = []

    def run(_, folder):
        folders.append(folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "unavailable", lambda: None)
    monkeypatch.setattr(command, "_run", run)
    return folders


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--minutes", "-1"], "'-1': give a number above 0"),
        (["--minutes", "0"], "'0': give a number above 0"),
        (["--minutes", "nan"], "'nan': give a number above 0"),
        (["--minutes", "ten"], "'ten': give a number above 0"),
        (["--scenario", "flood"], "invalid choice: 'flood'"),
    ],
)
def test_a_command_line_that_does_not_fit_is_one_line(flags, reason, began, capsys):
    assert main(flags) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert (told.count("\n"), began) == (1, [])


def test_what_is_kept_goes_into_a_folder_of_its_own(began, tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    assert main(["--keep", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"faults: --keep {tmp_path}: holds something already, name a new folder\n"
    assert began == []
    (tmp_path / "empty").mkdir()
    for name in ("empty", "deep/absent"):
        main(["--keep", str(tmp_path / name)])
        assert began.pop() == tmp_path / name


def test_where_the_result_cannot_be_written_nothing_is_begun(began, tmp_path, capsys):
    assert main(["--json", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told == f"faults: --json {tmp_path}: cannot be written: it is a folder, name a file\n"
    assert began == []


def test_a_run_that_has_played_nothing_has_not_passed():
    assert not summary(0, 0.0, [], [], {"full-and-read-only-disk": "only root can mount a small disk"}).passed


def test_an_interruption_is_one_line_with_its_code(began, capsys):
    assert main([]) == 130
    assert capsys.readouterr().err == "faults: interrupted\n"
    assert not began[0].exists()
