"""The command of the fault suite: a run that is impossible ends with one line before anything starts."""

from __future__ import annotations

import pytest

from onward.tests.faults.suite.__main__ import main
from onward.tests.faults.suite.results import summary


class InterruptedRun:
    """A run that is interrupted at once. ``folders`` are those in which runs started."""

    def __init__(self):
        self.folders = []

    def __call__(self, args, folder):
        self.folders.append(folder)
        raise KeyboardInterrupt


@pytest.fixture
def run():
    return InterruptedRun()


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
def test_an_invalid_command_line_prints_one_line(flags, reason, run, capsys):
    assert main(flags, run=run) == 2
    stderr = capsys.readouterr().err
    assert reason in stderr
    assert (stderr.count("\n"), run.folders) == (1, [])


def test_the_folder_to_keep_must_be_new_or_empty(run, tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    assert main(["--keep", str(tmp_path)], run=run) == 2
    assert capsys.readouterr().err == f"faults: --keep {tmp_path}: holds something already, name a new folder\n"
    assert run.folders == []
    (tmp_path / "empty").mkdir()
    for name in ("empty", "deep/absent"):
        main(["--keep", str(tmp_path / name)], run=run)
        assert run.folders.pop() == tmp_path / name


def test_a_result_file_that_cannot_be_written_is_refused_before_the_run(run, tmp_path, capsys):
    assert main(["--json", str(tmp_path)], run=run) == 2
    stderr = capsys.readouterr().err
    assert stderr == f"faults: --json {tmp_path}: cannot be written: it is a folder, name a file\n"
    assert run.folders == []


def test_a_run_of_no_scenario_has_not_passed():
    assert not summary(0, 0.0, [], [], {"full-and-read-only-disk": "only root can mount a small disk"}).passed


def test_an_interruption_prints_one_line_and_has_its_exit_code(run, capsys):
    assert main([], run=run) == 130
    assert capsys.readouterr().err == "faults: interrupted\n"
    assert not run.folders[0].exists()
