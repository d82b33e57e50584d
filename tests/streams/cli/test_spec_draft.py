"""Questions of `onward spec draft`: on a terminal, without one, and from a file of answers."""

from __future__ import annotations

import io
import os
import pty
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from onward.schemas.draft.questions import DraftQuestion
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec, parse_spec
from onward.streams.cli import main
from onward.streams.cli import spec as spec_command
from onward.streams.cli.display.interview import DraftInterview
from onward.streams.cli.display.read_progress import LineProgress

ROOT = Path(__file__).parents[3]
SECONDS = 60
PEOPLE = 120


def hiring(folder: Path) -> Path:
    """Applicants whose columns no name opens, but for `savings`, and a label that no name explains."""
    generator = random.Random(4)
    rows = ["savings,grp,typing_speed,hired_by,result"]
    for _ in range(PEOPLE):
        quality = generator.gauss(0, 1)
        taken = quality + generator.gauss(0, 0.5) > 0
        cells = (
            round(5000 + 900 * quality),
            generator.choice("abc"),
            generator.randint(20, 90),
            generator.choice("xy"),
        )
        rows.append(",".join(map(str, (*cells, "B" if taken else "A"))))
    file = folder / "hiring.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def on_a_terminal(arguments: Iterable[str], lines: Iterable[str]) -> tuple[int, str]:
    """The exit code of `onward`, and all that a terminal shows, where somebody writes these lines."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "onward", *arguments]
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, close_fds=True, cwd=ROOT
    ) as process:
        os.close(follower)
        os.write(leader, "".join(lines).encode())
        shown = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(leader)
        return process.wait(SECONDS), shown.decode()


def test_a_terminal_is_asked_and_the_answers_draft_it_again_without_one(tmp_path, capsys):
    data, spec, answers = hiring(tmp_path), tmp_path / "spec.yaml", tmp_path / "answers.yaml"
    arguments = ["spec", "draft", str(data), "--label", "result", "--answers", str(answers)]
    # The desired value; Enter for grp; a slip and then up for the speed; no for the one who hired.
    code, shown = on_a_terminal([*arguments, "--output", str(spec)], ["B\n", "\n", "maybe\n", "up\n", "no\n"])
    assert code == 0, shown
    assert "result: which value is the desired outcome?" in shown
    assert "'B' goes with higher savings" in shown
    assert "grp: can a person change it, and which way?" in shown
    assert "'maybe' is none of them" in shown
    drafted = load_spec(spec).spec
    assert drafted.label.desired == "B"
    mutable = {"savings": "up", "grp": "none", "typing_speed": "up", "hired_by": "none"}
    assert {feature.name: feature.mutable for feature in drafted.features} == mutable
    assert "undecided:" not in spec.read_text()
    assert main(["spec", "check", str(spec)]) == 0
    capsys.readouterr()
    again = tmp_path / "again" / "spec.yaml"
    again.parent.mkdir()
    assert main([*arguments, "--output", str(again)]) == 0
    assert again.read_text() == spec.read_text()
    assert str(answers) not in capsys.readouterr().err


def test_measures_that_go_together_are_asked_about_once_they_may_change(tmp_path, capsys, monkeypatch):
    generator = random.Random(4)
    rows = ["pay_3m,pay_12m,hired"]
    for _ in range(PEOPLE):
        quality = generator.gauss(0, 1)
        cells = round(5000 + 900 * quality), round(5000 + 900 * quality + generator.gauss(0, 90)), int(quality > 0.3)
        rows.append(",".join(map(str, cells)))
    (tmp_path / "jobs.csv").write_text("\n".join([*rows, ""]))
    answers, spec = tmp_path / "answers.yaml", tmp_path / "spec.yaml"
    answers.write_text("label: {hired: 1}\nmutable: {pay_3m: up, pay_12m: up}\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("pay_1m\npay_12m\n"))
    drafted = (tmp_path / "jobs.csv", "hired", spec, answers, DraftInterview())
    assert spec_command.draft(*drafted) == 0
    told = capsys.readouterr().err
    assert "pay_3m: when people change one of them, do the others follow, and which one is it?" in told
    assert "write pay_3m, pay_12m, none; Enter leaves it open" in told
    assert "'pay_1m' is none of them" in told
    assert load_spec(spec).spec.effects == (("pay_12m", "pay_3m"),)
    assert '  "pay_3m": "pay_12m"' in answers.read_text()


def test_who_ends_the_questions_leaves_the_rest_undecided(tmp_path):
    data, spec = hiring(tmp_path), tmp_path / "spec.yaml"
    arguments = ["spec", "draft", str(data), "--label", "result", "--output", str(spec)]
    code, shown = on_a_terminal(arguments, ["B\n", "\x04"])
    assert code == 0
    assert "no more answers: the rest is left as it is" in shown
    text = spec.read_text()
    assert "desired: B}" in text
    assert text.count("# undecided: ") == 3


def test_nobody_is_asked_with_no_input(tmp_path):
    data = hiring(tmp_path)
    code, shown = on_a_terminal(["spec", "draft", str(data), "--label", "result", "--no-input"], [])
    assert code == 0
    assert "which value is the desired outcome" not in shown
    assert "desired: undecided}" in shown


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_answers_are_taken_from_yaml_and_json_and_those_that_do_not_fit_are_told(tmp_path, capsys, suffix):
    data, answers = hiring(tmp_path), tmp_path / f"answers{suffix}"
    answers.write_text(
        '{"label": {"result": "C"}, "mutable": {"grp": "up", "typing_speed": "any", "gone": "up", "savings": "none"}}'
    )
    assert main(["spec", "draft", str(data), "--label", "result", "--answers", str(answers)]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[:3] == [
        f"{answers}: label.result: 'C' does not fit: one of 'A', 'B' does",
        f"{answers}: mutable.grp: 'up' does not fit: one of 'none', 'any' does",
        f"{answers}: mutable.gone: nothing is asked about it: no column, or no feature",
    ]
    assert "desired: undecided}" in told.out
    opened = [line for line in told.out.splitlines() if "mutable: " in line and "mutable: none" not in line]
    assert ["typing_speed" in line for line in opened if "- {name" in line] == [True]


def test_an_answer_opens_no_personal_data_and_says_what_to_write_instead(tmp_path, capsys):
    data, answers = hiring(tmp_path), tmp_path / "answers.yaml"
    data.write_text(data.read_text().replace("grp", "race", 1).replace("hired_by", "sex", 1))
    answers.write_text("mutable: {race: any, sex: none}")
    assert main(["spec", "draft", str(data), "--label", "result", "--answers", str(answers)]) == 0
    told = capsys.readouterr()
    assert [line for line in told.err.splitlines() if str(answers) in line] == [
        f"{answers}: mutable.race: not taken: personal data, which no answer opens: change its line in the drafted spec"
    ]
    assert told.out.count("mutable: none, pii: true, protected: true") == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mutable: {grp: sideways}", "1: mutable.grp: 'sideways' is not one of none, up, down, any"),
        ("mutables: {}", "1: mutables: unknown key (did you mean mutable?)"),
        ("label: [", "1: "),
        (None, " cannot be read: No such file or directory"),
    ],
)
def test_a_file_of_answers_that_cannot_be_used_is_refused(tmp_path, capsys, text, problem):
    data, answers = hiring(tmp_path), tmp_path / "answers.yaml"
    if text is not None:
        answers.write_text(text)
    assert main(["spec", "draft", str(data), "--label", "result", "--answers", str(answers)]) == 2
    assert f"{answers}:{problem}" in capsys.readouterr().err


def coded(folder: Path) -> Path:
    """People with savings, of which 999999 stands apart."""
    generator = random.Random(1)
    amounts = [generator.randrange(0, 9000, 50) for _ in range(PEOPLE)]
    label = [int(amount + generator.gauss(0, 900) > 4500) for amount in amounts]
    rows = [
        f"{999999 if n % 9 == 0 else amount},{one}" for n, (amount, one) in enumerate(zip(amounts, label, strict=True))
    ]
    file = folder / "loans.csv"
    file.write_text("savings,approved\n" + "\n".join(rows) + "\n")
    return file


def test_the_time_that_somebody_takes_to_answer_is_no_progress(tmp_path, capsys, monkeypatch):
    data = coded(tmp_path)
    data.write_text("".join(f"{line},{n % 7}\n" for n, line in enumerate(data.read_text().splitlines())))
    now = [0.0]
    monkeypatch.setattr(spec_command, "LineProgress", lambda: LineProgress(lambda: now[0]))

    def after_an_hour(_: DraftQuestion) -> None:
        now[0] += 3600

    assert spec_command.draft(data, "approved", ask=after_an_hour) == 0
    assert now[0] > 0
    assert "looked at" not in capsys.readouterr().err


def test_codes_beside_amounts_close_a_feature_until_somebody_says_what_they_are(tmp_path, capsys):
    data, answers = coded(tmp_path), tmp_path / "answers.yaml"
    arguments = ["spec", "draft", str(data), "--label", "approved", "--answers", str(answers)]
    answers.write_text("mutable: {savings: up}")
    assert main(arguments) == 0
    told = capsys.readouterr()
    [line] = [line for line in told.out.splitlines() if "name: savings" in line]
    assert "mutable: none}" in line
    assert "`not_given: [999999]` if these are no values: 999999 (14 times) apart from " in line
    assert "mutable.savings: not taken: `not_given: [999999]` if these are no values" in told.err
    assert "desired: 1}" in told.out
    code, shown = on_a_terminal(arguments, ["yes\n"])
    assert code == 0
    assert "savings: does 999999 stand for no value?" in shown
    assert main(arguments) == 0
    drafted = parse_spec(capsys.readouterr().out.encode())
    assert isinstance(drafted, ProgramSpec)
    [savings] = drafted.features
    assert (savings.mutable, savings.not_given, savings.bounds) == ("up", (999999,), (0.0, 9000.0))
    answers.write_text("amounts: {savings: [999999]}")
    assert main(arguments) == 0
    drafted = parse_spec(capsys.readouterr().out.encode())
    assert isinstance(drafted, ProgramSpec)
    [savings] = drafted.features
    assert (savings.mutable, savings.not_given, savings.bounds) == ("up", (), (0.0, 1000000.0))
