import re
from pathlib import Path

import pytest

from onward.agents.choices import registry
from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import DraftAnswers, DraftDecisions
from onward.schemas.table import TableError
from onward.streams.cli import main
from onward.streams.cli.spec import check, draft
from onward.streams.errors import UsageError
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.packaged_specs import text_alone

ROOT = Path(__file__).parents[3]
CREDIT = ROOT / "environments" / "specs" / "credit.yaml"
FIXED = "{goal: fixed, window: {time: P9D}}"
ROUNDS = "policy: {goal: capacity, window: {time: P9D}}\ncapacity: {places: 4"
NO_WIZARD = f"policy.choice: there is no choice 'wizard': use one of {', '.join(registry)}"


def test_check_summarises_a_good_spec_in_one_line(capsys):
    assert check([CREDIT]) == 0
    assert "program credit: 13 features (10 mutable) in 13 columns, policy residual" in capsys.readouterr().out


def test_check_names_the_numbers_that_people_may_be_told_to_change_by_any_amount(tmp_path, capsys):
    spec = tmp_path / "credit.yaml"
    text = text_alone(CREDIT)
    spec.write_text(text.replace("bounds: [0, 36]", "bounds: [0, 36], max_change: 6"))
    for file, told in ((CREDIT, True), (spec, False)):
        assert check([file]) == 0
        assert (f"{file}: TotalMonthsOverdue: people may be told to change it" in capsys.readouterr().err) is told


@pytest.mark.parametrize(
    ("added", "is_told"),
    [("promise: {kind: retrains}", True), (f"{ROUNDS}}}", True), ("policy: {generator: search}", False)],
)
def test_check_asks_for_applicants_where_somebody_may_come_back(added, is_told, tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"{text_alone(CREDIT)}{added}\n")
    assert check([spec]) == 0
    assert ("applications need an `applicant`" in capsys.readouterr().err) is is_told


def test_what_is_wrong_in_a_spec_cannot_give_orders_to_the_terminal(tmp_path, capsys):
    """YAML can spell any character."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(text_alone(CREDIT) + '"\\e[2J": 1\npolicy: {choice: "\\e]0;x\\a"}\n')
    assert check([spec]) == 2
    told = capsys.readouterr()
    assert "\\x1b[2J" in told.err
    assert "\x1b" not in told.out + told.err


@pytest.mark.parametrize(
    ("added", "is_told"),
    [
        ("policy: {generator: instances}", False),
        ("policy: {generator: adapted, margin: 0.1}", False),
        ("policy: {generator: instances, margin: 0.1}", True),
        ("policy: {generator: instances, margin: 0}", False),
        ("policy: {generator: instances, target: 0.5}", False),
        ("policy: {generator: instances, target: 0.6}", True),
        ("policy: {generator: instances}\npromise: {kind: retrains}", True),
        ("policy: {generator: instances, goal: capacity, window: {time: P9D}}\ncapacity: {places: 4}", True),
    ],
)
def test_check_tells_of_rows_that_may_not_score_what_is_asked_for(added, is_told, tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"{text_alone(CREDIT)}{added}\ninstances: {{publish: true}}\n")
    assert check([spec]) == 0
    assert ("generator `instances` proposes rows of the data as they are, and " in capsys.readouterr().err) is is_told


def with_sex(tmp_path, fields):
    spec = tmp_path / "spec.yaml"
    feature = f"  - {{name: sex, type: categorical, categories: [female, male]{fields}}}\n"
    spec.write_text(text_alone(CREDIT).replace("features:\n", f"features:\n{feature}", 1))
    return spec


def test_what_is_protected_may_not_be_changed(tmp_path, capsys):
    assert check([with_sex(tmp_path, ", protected: true")]) == 2
    told = capsys.readouterr().err
    assert "features[0].protected: sex: nobody is to be told to change what is protected: write `mutable: none`" in told
    assert check([with_sex(tmp_path, ", protected: true, mutable: any")]) == 2
    assert check([with_sex(tmp_path, ", protected: true, mutable: none")]) == 0
    for direction, code in {"up": 2, "down": 2, "none": 0}.items():
        spec = with_sex(tmp_path, "")
        number = f"{{name: age, type: integer, bounds: [18, 99], mutable: {direction}, protected: true}}"
        spec.write_text(spec.read_text().replace("features:\n", f"features:\n  - {number}\n", 1))
        assert check([spec]) == code


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [("", True), (", mutable: any", True), (", mutable: none", False), (", protected: false", False)],
)
def test_check_tells_of_what_looks_personal_and_may_be_changed(tmp_path, capsys, fields, is_told):
    assert check([with_sex(tmp_path, fields)]) == 0
    told = capsys.readouterr().err
    assert ("sex: people may be told to change it, and it looks personal: write `mutable: none, protected" in told) == (
        is_told
    )


@pytest.mark.parametrize(
    ("added", "told"),
    [
        (
            f"{ROUNDS}, round: P1D, horizon: 4}}",
            "and window P9D of event time, 4 places every P1D, goal capacity, coverage 0.95 within 4 rounds, sha256 ",
        ),
        (f"{ROUNDS}}}", ", 4 places in rounds that events announce, goal capacity, coverage 0.95 within 1 round, sha"),
        ("promise: {kind: retrains}", "and window P90D of event time, promise retrains, open for P90D, sha256 "),
    ],
)
def test_the_summary_tells_of_rounds_and_promises(added, told, tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"{text_alone(CREDIT)}{added}\n")
    assert check([spec]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("replaced", "policy", "problems"),
    [
        (
            ("desired: 1", "desird: 1"),
            "{nu: high, window: {steps: 0}}",
            [
                "18:33: label.desird: unknown key (did you mean desired?)",
                "20:14: policy.nu: expected a number or nothing, got a text",
                "20:36: policy.window.steps: expected a whole number >= 1",
            ],
        ),
        (
            ("bounds: [0, 36]", "bounds: [36, 0]"),
            "{choice: wizard}",
            [
                "17:55: features[12].bounds: TotalMonthsOverdue: the lower bound 36 must be below the upper bound 0",
                f"20:18: {NO_WIZARD}",
            ],
        ),
    ],
)
def test_check_reports_all_types_together_and_then_all_rules(replaced, policy, problems, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"{text_alone(CREDIT).replace(*replaced)}policy: {policy}\n")
    assert check([CREDIT, bad]) == 2
    streams = capsys.readouterr()
    assert streams.out.count("\n") == 1
    told = [line for line in streams.err.splitlines() if not line.startswith(str(CREDIT))]
    assert told == [f"{bad}:{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("policy", "column", "problem"),
    [
        ("{choice: wizard}", 18, NO_WIZARD),
        (
            "{choice: linucb, parameters: {lambda: 20}}",
            47,
            "policy.parameters.lambda: linucb has no parameter 'lambda': it takes regularisation, delta",
        ),
        (
            "{choice: linucb, parameters: {delta: 2}}",
            46,
            "policy.parameters.delta: delta is 2.0: linucb needs a number above 1e-12 and below 1",
        ),
    ],
)
def test_check_knows_the_choices_and_their_parameters(policy, column, problem, tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    lines = text_alone(CREDIT).splitlines()
    spec.write_text("\n".join([*lines, f"policy: {policy}"]))
    assert check([spec]) == 2
    assert capsys.readouterr().err == f"{spec}:{len(lines) + 1}:{column}: {problem}\n"


def test_the_examples_of_the_page_pass_the_whole_check(tmp_path, capsys):
    whole, with_rounds = tmp_path / "loan.yaml", tmp_path / "rounds.yaml"
    examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "reference" / "spec.md").read_text(), re.DOTALL)
    whole.write_text(examples[0])
    with_rounds.write_text(text_alone(CREDIT) + examples[1])
    assert check([whole, with_rounds]) == 0, capsys.readouterr().err


def test_draft_writes_a_good_spec_and_never_over_a_file(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income;noted;y\n1;x;0\n2;x;1\n")
    assert draft(data, "y", None) == 0
    printed = capsys.readouterr()
    label, stuck, closed, left_out = printed.err.splitlines()
    assert label == f"{data}: 'y': write the desired value, 0 or 1: its name does not say it; nor do the data"
    assert stuck.startswith(f"{data}: nothing may change as drafted")
    assert closed == f"{data}: 1 feature closed, as nobody has said whether people can change them: income"
    assert left_out == f"{data}: 'noted' is not used: it has one value only"
    assert draft(data, "y", spec) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[:-1] == printed.err.splitlines()
    assert told[-1].startswith(f"{spec}: drafted from {data}; review it")
    assert spec.read_text().startswith(printed.out + "words: words  # ")
    assert (tmp_path / "words" / "en.yaml").read_text().endswith("features:\n  income:\n    name: Income\n")
    spec.write_text(printed.out.replace("desired: undecided", "desired: 1").replace("mutable: none", "mutable: up"))
    assert check([spec]) == 0
    with pytest.raises(UsageError, match="exists already"):
        draft(data, "y", spec)
    with pytest.raises(TableError, match="z: no such column"):
        draft(data, "z", None)
    with pytest.raises(UsageError, match="cannot be written"):
        draft(data, "y", tmp_path / "absent" / "spec.yaml")


def test_words_of_another_program_are_not_taken_and_not_touched(tmp_path, capsys):
    data, words = tmp_path / "data.csv", tmp_path / "words" / "en.yaml"
    data.write_text("income;y\n1;0\n2;1\n")
    words.parent.mkdir()
    words.write_text("features: {debts: {name: Your debts}}\n")
    assert draft(data, "y", tmp_path / "spec.yaml") == 0
    assert f"the words beside it are not used, as they do not fit: {words}:1: features.debts" in capsys.readouterr().err
    assert '\nwords: "spec-words"  #' in (tmp_path / "spec.yaml").read_text()
    assert (tmp_path / "spec-words" / "en.yaml").exists()
    assert words.read_text() == "features: {debts: {name: Your debts}}\n"


def test_what_a_draft_has_in_comments_is_a_good_spec_too(tmp_path):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income,y\n1,0\n2,1\n")
    text = draft_spec(data, "y", DraftDecisions(DraftAnswers({"y": 1}, {"income": "up"}))).text
    uncommented = re.sub(r"^( *)# ((choice|margin|constraints): )", r"\1\2", text, flags=re.MULTILINE)
    spec.write_text(uncommented)
    loaded = load_program_spec(spec).spec
    policy = loaded.policy
    assert (policy.choice, policy.margin, policy.assumed_nu, loaded.constraints.max_changes) == ("stages", 0, 0.5, 1)


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        (
            "policy: {goal: capacity, window: {time: P9D}}",
            "policy.goal: capacity is for limited places",
        ),
        (
            "policy: {goal: fixed, window: {steps: 10}}\ncapacity: {places: 4}",
            "policy.window: a program with rounds needs a window in time",
        ),
        (
            "shards: 2\npolicy: {goal: fixed, window: {time: P9D}}\ncapacity: {places: 4}",
            "shards: places are given to the best of the whole program",
        ),
        (
            "policy: {goal: capacity, margin: 0.1, window: {time: P9D}}\ncapacity: {places: 4}",
            "policy.margin: capacity says which score people must reach",
        ),
        (
            "policy: {goal: capacity, goal_parameters: {memory: 2}, window: {time: P9D}}\ncapacity: {places: 4}",
            "policy.goal_parameters.memory: memory is 2.0: capacity needs a number",
        ),
        ("policy: {goal_parameters: {memory: 2}}", "policy.goal_parameters.memory: threshold has no parameter"),
        (f"policy: {FIXED}\ncapacity: {{places: 4}}", "policy.goal: which score? give one, such as `goal_parameters"),
        (
            "policy: {goal: fixed, goal_parameters: {score: 0.4}, window: {time: P9D}}\ncapacity: {places: 4}",
            "policy.goal_parameters.score: the model approves scores above 0.5 only: give a higher one",
        ),
        ("capacity: {places: 4}", "capacity: `goal: threshold` limits no places: take `capacity` out, or give"),
        (f"{ROUNDS}, round: PT0.0001S}}", "capacity.round: must be at least a second and at most P3653D, ten years"),
        (f"{ROUNDS}, round: P99999999D, horizon: 1000}}", "capacity.round: must be at least a second"),
        (f"{ROUNDS}, start: 2026-01-05T00:00:00Z}}", "capacity.start: events announce rounds that have no length"),
        (f"{ROUNDS}, coverage: 0}}", "capacity.coverage: 0: give a number between 0 and 1"),
        ("promise: {kind: lp, quantile: 1.5}", "promise.quantile: 1.5: give a number between 0 and 1"),
        (f"{ROUNDS}, coverage: most}}", "capacity.coverage: expected a number, got a text"),
        ("capacity: {places: 1000000001}", "capacity.places: expected a whole number <= 1000000000"),
        (
            f"{ROUNDS}, round: P1D, horizon: 9}}",
            "policy.window.time: a target score holds for P9D, and outcomes may come later: give P10D or more",
        ),
        (
            f"{ROUNDS}, round: P1D}}\nretention: {{undecided: P1D}}",
            "retention.undecided: people who wait P1D for the end of a round and PT60S for late records would be",
        ),
        ("promise: {kind: ball}", "promise.kind: there is no promise 'ball': use one of"),
        ("promise: {kind: lp, radius: -1}", "promise.radius: "),
        ("promise: {kind: lp, norm: L2}", "promise.norm: 'L2' is neither a number nor inf"),
        ("promise: {kind: lp, radius: automatic}", "promise.radius: 'automatic' is neither a number nor auto"),
        ("promise: {kind: lp, radius: 1, quantile: 0.1}", "promise.quantile: a radius is given, so none is measured"),
        ("promise: {kind: lp, valid_for: long}", "promise.valid_for: invalid ISO8601 duration: write one such as P90D"),
        ("promise: {kind: lp, valid_for: P9999D}", "promise.valid_for: must be longer than zero and at most P3653D"),
        ("promise: {kind: retrains, norm: 1}", "promise.norm: retrains has no parameter 'norm': it takes quantile"),
        ("promise: {valid_for: P9D}", "promise.valid_for: nothing is promised: say what in `kind`"),
        ("promise: {kind: lp, margin: 0.5}", "promise.margin: no score exceeds the threshold and the margin together"),
        (
            "promise: {kind: lp}\npolicy: {margin: 0.1}",
            "policy.margin: the promise says which score options must reach",
        ),
        ("promise: {kind: lp}\npolicy: {generator: linear}", "policy.generator: linear cannot keep the promise lp"),
        (
            "promise: {kind: lp, grandfather: true}\ndecisions: external",
            "promise.grandfather: others decide, so Onward cannot judge by an older model",
        ),
        (
            "promise: {kind: lp}\npolicy: {goal: fixed, window: {time: P9D}}\ncapacity: {places: 4}",
            "promise.kind: fixed promises a score in rounds: take `promise` out",
        ),
    ],
)
def test_check_says_what_rounds_and_promises_lack(added, problem, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"{text_alone(CREDIT)}{added}\n")
    assert check([bad]) == 2
    assert problem in capsys.readouterr().err


UNDECIDED = {
    "check": ["spec", "check", "{spec}"],
    "train": ["train", "{data}", "--spec", "{spec}", "--output", "{folder}/model"],
    "demo": ["demo", "--data", "{data}", "--spec", "{spec}", "--people", "10"],
    "suggest": ["suggest", "{data}", "--spec", "{spec}"],
    "worker": ["worker", "--brokers", "127.0.0.1:1", "--spec", "{spec}", "--state-dir", "{folder}/state"],
    "import": ["models", "import", "m.onnx", "--data", "{data}", "--spec", "{spec}", "--output", "{folder}/model"],
    "announce of a spec": ["specs", "announce", "{spec}", "--brokers", "127.0.0.1:1"],
}


@pytest.mark.parametrize("command", UNDECIDED)
def test_a_spec_whose_label_nobody_has_decided_is_refused_with_what_to_write(command, tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("savings,noted,y\n" + "".join(f"{i * 10},{i % 3},{'ja' if i % 2 else 'nein'}\n" for i in range(60)))
    assert draft(data, "y", spec) == 0
    [first, *_] = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{data}: 'y': write the desired value, ja or nein: its name does not say it")
    places = {"spec": spec, "data": data, "folder": tmp_path}
    assert main([part.format(**places) for part in UNDECIDED[command]]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if "label.desired" in line]
    line = spec.read_text().split("label:")[0].count("\n") + 1
    [problem] = told
    assert f"{spec}:{line}:" in problem
    assert problem.endswith(
        "label.desired: nobody has decided which value of y is the desired outcome: write that value in place of "
        "`undecided`"
    )
    assert not (tmp_path / "model").exists()


def test_a_spec_whose_label_has_codes_that_nobody_has_decided_is_refused_with_these(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("savings,noted,y\n" + "".join(f"{i * 37 % 50},{i % 7},{(0, 1, -9)[i % 3]}\n" for i in range(60)))
    assert draft(data, "y", spec) == 0
    told = capsys.readouterr().err
    assert "write the desired value, 0 or 1, and take from `not_given` what is an outcome: -9 (20 times)" in told
    assert "20 rows read as people without a label" in told
    assert main(["train", str(data), "--spec", str(spec), "--output", str(tmp_path / "model")]) == 2
    refusal = "in place of `undecided`, and delete from label.not_given what is an outcome: rows with -9 are left out"
    assert refusal in capsys.readouterr().err


def test_a_model_is_not_announced_by_a_spec_whose_label_nobody_has_decided(program, capsys):
    spec, manifest = program / "undecided.yaml", program / "model" / "manifest.json"
    text = (program / "spec.yaml").read_text()
    spec.write_text(text.replace("name: repaid", "name: repaid, desired: undecided"))
    told = ["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", str(manifest), "--spec", str(spec)]
    assert main(told) == 2
    assert "nobody has decided which value of repaid" in capsys.readouterr().err


def test_the_example_of_the_readme_is_drafted_trained_and_answered_without_an_edit(tmp_path, capsys):
    data, spec = ROOT / "docs" / "examples" / "loans.csv", tmp_path / "loans.yaml"
    assert main(["spec", "draft", str(data), "--label", "repaid", "--output", str(spec)]) == 0
    assert main(["spec", "check", str(spec)]) == 0
    assert main(["train", str(data), "--spec", str(spec), "--output", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    assert main(["suggest", str(data), "--spec", str(spec)]) == 0
    told = capsys.readouterr().out
    assert "Raise income: from" in told
    assert "Lower debts: from" in told


def against(program, old, new):
    """Check the spec of a program, one text of it replaced, against what it was."""
    spec, changed = program / "spec.yaml", program / "changed.yaml"
    spec.write_text(text_alone(spec))
    assert spec.read_text().count(old) == 1
    changed.write_text(spec.read_text().replace(old, new))
    return main(["spec", "check", str(changed), "--against", str(spec)])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("features:", "# reviewed\nfeatures:", "changed.yaml: means the same as"),
        ("bounds: [0, 80000]", "bounds: [0, 70000]", "  features.savings.bounds: [0,80000] -> [0,70000]\n"),
        ("max_change: 200%", "max_change: 100%", '  features.savings.max_change: "200%" -> "100%"\n'),
    ],
)
def test_what_a_program_can_take_may_be_announced(program, old, new, told, capsys):
    assert against(program, old, new) == 0
    out, err = capsys.readouterr()
    assert told in out
    assert ("may be announced: onward specs announce" in out) == ("->" in told)
    assert not err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "name: card_utilisation",
            "name: overdraft",
            "features: card_utilisation -> overdraft (cannot change: cases,",
        ),
        ("bounds: [0, 80000]", "bounds: [0, 90000]", "first model was trained with 0 to 80000, and knows nothing"),
        ("choice: linucb", "choice: posterior", 'policy.choice: "linucb" -> "posterior" (cannot change: what is'),
        ("personal-loan-linucb", "loans", "(cannot change: another program is another name)"),
    ],
)
def test_what_a_program_cannot_take_is_told_with_the_reason(program, old, new, told, capsys):
    assert against(program, old, new) == 2
    out, err = capsys.readouterr()
    assert told in out
    assert err.startswith("onward: ")
    assert err.count("\n") == 1
    assert ("is another program than" in err) == (new == "loans")


def test_without_the_model_the_rest_is_compared(program, capsys):
    (program / "model" / "manifest.json").unlink()
    assert against(program, "bounds: [0, 80000]", "bounds: [0, 90000]") == 0
    assert "its model cannot be read, so what depends on the model is not checked" in capsys.readouterr().err


def test_one_spec_is_checked_against_another(capsys):
    assert main(["spec", "check", str(CREDIT), str(CREDIT), "--against", str(CREDIT)]) == 2
    assert "--against compares one FILE with OLD" in capsys.readouterr().err
