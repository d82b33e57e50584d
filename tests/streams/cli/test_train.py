import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import msgspec
import numpy as np
import pytest

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Model
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import SpecError, load_spec, parse_spec
from onward.streams.cli import main
from onward.streams.cli.display.new_model import print_model
from onward.streams.errors import ModelError, UsageError
from onward.streams.programs.assembly import assemble, check_model
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import BundleFile, Manifest
from onward.streams.programs.bundle.measured import Data, Margin, Measured, Quality, Served
from onward.streams.programs.training.measures.protected import protected_use

SPEC = """\
program: loans
features: [{name: income, type: integer, bounds: [0, 99]}]
label: {name: repaid}
model: {manifest: model/manifest.json}
candidates: 7
"""


def test_it_tells_how_many_instances_were_found_and_are_kept(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income,repaid\n" + "".join(f"{income},{int(income > 40)}\n" for income in range(100)))
    spec.write_text(f"{SPEC}policy: {{generator: adapted}}\n")
    train = ["train", str(data), "--spec", str(spec), "--estimator", "logistic_regression"]
    assert main([*train, "--output", str(tmp_path / "model")]) == 0
    told = capsys.readouterr().out
    assert "recourse instances: 7 kept of 15 found (candidates in the spec: 7)\n" in told
    assert len((tmp_path / "model" / "instances.csv").read_text().splitlines()) == 1 + 7
    assert "of 10 rejected people of the data all have an option\n" in told


def test_for_limited_places_it_measures_no_margin_and_says_which_score_the_options_reach(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income,repaid\n" + "".join(f"{income},{int(income > 40)}\n" for income in range(100)))
    spec.write_text(f"{SPEC}policy: {{goal: capacity, window: {{time: P90D}}}}\ncapacity: {{places: 4, round: P7D}}\n")
    line = ["train", str(data), "--spec", str(spec), "--estimator", "logistic_regression"]
    assert main([*line, "--output", str(tmp_path / "model")]) == 0
    told = capsys.readouterr()
    assert "margin" not in told.out + told.err + (tmp_path / "model" / "manifest.json").read_text()
    assert "all have an option above the threshold, 0.5; a round may ask for a higher score: above 0." in told.out
    assert ", 0.0% have none\n" in told.out


def test_rows_that_do_not_score_what_a_round_asks_for_are_told_of(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income,repaid\n" + "".join(f"{income},{int(income > 40)}\n" for income in range(100)))
    goal = "generator: instances, goal: fixed, goal_parameters: {score: 0.999999}, window: {time: P90D}"
    published = "instances: {publish: true}"
    spec.write_text(f"{SPEC}policy: {{{goal}}}\ncapacity: {{places: 4, round: P7D}}\n{published}\n")
    line = ["train", str(data), "--spec", str(spec), "--estimator", "logistic_regression"]
    assert main([*line, "--output", str(tmp_path / "model")]) == 0
    told = capsys.readouterr()
    assert "above the threshold, 0.5; a round may ask for a higher score: above 0.99, 100.0% have none\n" in told.out
    assert "proposes rows of the data as they are, and `goal: fixed` asks for a score that wins a place" in told.err
    assert "warning: with this spec nobody is served in such a round; generator `instances` copies whole" in told.err


FILE = BundleFile("f", 0, "")
MANIFEST = Manifest(
    program="loans",
    version="v",
    estimator="e",
    columns=(),
    features=(),
    model=FILE,
    instances=FILE,
    reference=FILE,
    margin=0.3,
    measured=Measured(data=Data(9)),
)


@pytest.mark.parametrize(
    ("measured", "margin", "told"),
    [
        (Measured(margin=Margin(0.93)), 0.3, ["margin: 0.3 above the threshold"]),
        (
            Measured(served=Served(50, 0.4, up_to_a_point=0.125)),
            0.0,
            ["  12.5% have only options that work up to a point: `policy.overshoot: limit` tells them"],
        ),
        (
            Measured(margin=Margin(0.71)),
            0.3,
            ["other rows of the data accept 71% of the options; the wanted 90% is reached by no margin"],
        ),
        (
            Measured(),
            0.0,
            ["margin: 0 above the threshold: it could not be measured, because no rejected person has an option"],
        ),
        (
            Measured(served=Served(50, 0.4, at_threshold=0.1, many_changes=0.2)),
            0.3,
            [
                "of 50 rejected people of the data 40.0% have no option (10.0% without the margin); "
                "20.0% of the options have more than 4 changes",
                "to serve more people: a smaller `policy.margin` than 0.3, or let features change in both directions "
                "where that is sensible (`mutable: any`)",
                "for options with fewer changes: `constraints: {max_changes: 3}`, or a smaller `policy.margin` than",
            ],
        ),
        (
            Measured(served=Served(50, 0.4, breaking=0.38), data=Data(9, broken={"le: a <= b": 611})),
            0.0,
            ["40.0% have no option\n611 rows of the data break le: a <= b: people like these", "leave it out of"],
        ),
    ],
)
def test_it_tells_who_gets_no_option_what_the_margin_reaches_and_what_to_do(tmp_path, capsys, measured, margin, told):
    spec = parse_spec((SPEC.replace("[0, 99]", "[0, 99], mutable: up") + "policy: {objective: cost}\n").encode())
    manifest = msgspec.structs.replace(MANIFEST, margin=margin, measured=measured)
    print_model(manifest, spec, tmp_path)
    printed = capsys.readouterr().out
    assert all(line in printed for line in told), printed


def test_a_floor_of_the_lower_end_is_told_as_such_with_what_to_do(tmp_path, capsys):
    policy = "policy: {objective: cost, least_help: 0.6, least_help_of: lower_end, improvement_interval: 0.8}\n"
    quality = Quality(0.8, 0.8, 0.8, 0.2, 0.5, 0.5, 100, just_above=0.5)
    measured = Measured(quality, served=Served(50, 0.7, below_floor=0.7))
    manifest = msgspec.structs.replace(MANIFEST, margin=0.0, measured=measured)
    print_model(manifest, parse_spec((SPEC + policy).encode()), tmp_path)
    printed = " ".join(capsys.readouterr().out.split())
    assert "they are below `least_help: 0.6, least_help_of: lower_end`" in printed
    assert "without `policy.least_help_of` the floor is asked of what is said of help" in printed
    assert "asks no more of an option" not in printed


@pytest.mark.parametrize(
    ("generator", "told"),
    [
        ("instances", "`policy: {generator: search}` fits the person\n"),
        ("search", "nobody is served; to serve more people: let features change in both directions"),
    ],
)
def test_a_model_that_serves_nobody_is_told_as_a_warning_with_what_to_do(tmp_path, capsys, generator, told):
    text = SPEC.replace("[0, 99]", "[0, 99], mutable: up") + f"policy: {{generator: {generator}}}\n"
    manifest = msgspec.structs.replace(MANIFEST, margin=0.0, measured=Measured(data=Data(9), served=Served(50, 1.0)))
    print_model(manifest, parse_spec(text.encode()), tmp_path)
    printed = capsys.readouterr()
    assert printed.err.startswith("warning: with this spec nobody is served; ")
    assert told in printed.err
    assert "100.0% have no option" in printed.out


def test_what_is_wrong_is_told_before_anything_is_fitted(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    data.write_text("income,repaid\n" + "".join(f"{income},{int(income > 40)}\n" for income in range(100)))
    for flags, line in (
        (["--output", str(tmp_path)], f"onward: {tmp_path}: already holds something"),
        (["--output", str(tmp_path / "new"), "--estimator", "mlp", "--calibrate"], "onward: --calibrate: mlp"),
    ):
        assert main(["train", str(data), "--spec", str(spec), *flags]) == 2
        told = capsys.readouterr().err
        assert told.startswith(line)
        assert len(told.splitlines()) == 1


@pytest.mark.parametrize("seed", ["-1", str(2**32), "x"])
def test_a_seed_that_training_cannot_take_is_told_in_one_line(capsys, seed):
    assert main(["train", "data.csv", "--spec", "spec.yaml", "--output", "model", "--seed", seed]) == 2
    told = f"onward: --seed: give a whole number from 0 to 4294967295 (it is {seed!r})"
    assert capsys.readouterr().err.startswith(told)


@pytest.fixture(scope="module")
def reads_sex(tmp_path_factory):
    """The folder of a forest that may read the sex of people, which the spec protects, and what training printed."""
    folder, output, errors = tmp_path_factory.mktemp("sex"), StringIO(), StringIO()
    write_people(folder)
    train = ["train", str(folder / "data.csv"), "--spec", str(folder / "spec.yaml"), "--estimator", "random_forest"]
    with redirect_stdout(output), redirect_stderr(errors):
        assert main([*train, "--output", str(folder / "model")]) == 0
    return folder, output.getvalue(), errors.getvalue()


def write_people(folder):
    """Write people with a protected feature beside their income, and a spec that lets the model read it."""
    people = [(income, ("female", "male")[income * 7 % 3 == 0]) for income in range(200)]
    rows = [f"{income},{sex},{int(income > (60 if sex == 'male' else 140))}\n" for income, sex in people]
    (folder / "data.csv").write_text("income,sex,repaid\n" + "".join(rows))
    sex = ", {name: sex, type: categorical, categories: [female, male], mutable: none, protected: true}]"
    (folder / "spec.yaml").write_text(
        SPEC.replace("bounds: [0, 99]}]", f"bounds: [0, 199]}}{sex}").replace(
            "manifest.json}", "manifest.json, may_read: [sex]}"
        )
    )


def with_reading_of(folder, old, new):
    """The spec of ``write_people`` with another ``may_read``, in a file of its own."""
    text, spec = (folder / "spec.yaml").read_text(), folder / "changed.yaml"
    assert old in text
    spec.write_text(text.replace(old, new))
    return spec


@pytest.mark.attack
@pytest.mark.parametrize("estimator", ["random_forest", "logistic_regression"])
def test_training_leaves_out_what_is_protected_unless_the_spec_lets_the_model_read_it(tmp_path, capsys, estimator):
    write_people(tmp_path)
    spec, output = with_reading_of(tmp_path, ", may_read: [sex]", ""), tmp_path / "without"
    command = ["train", str(tmp_path / "data.csv"), "--spec", str(spec), "--estimator", estimator, "--retrains", "4"]
    assert main([*command, "--output", str(output)]) == 0
    assert "protected, and not read by the model: sex (`model: {may_read" in capsys.readouterr().out
    codec = FeatureCodec(load_spec(spec).spec)
    bundle = load_bundle(str(output / "manifest.json"), sha256=None, columns=codec.columns, codec=codec)
    assert not bundle.manifest.measured.protected
    X = codec.encode_many([{"income": income, "sex": "male"} for income in range(200)])
    changed = codec.encode_many([{"income": income, "sex": "female"} for income in range(200)])
    for model in (bundle.model, *bundle.retrains):
        assert np.array_equal(model.score(X), model.score(changed))
        assert model.score(X).std() > 0.001


@pytest.mark.attack
def test_no_model_is_served_that_was_trained_when_the_spec_said_otherwise(reads_sex):
    folder, _, _ = reads_sex
    loaded = load_spec(with_reading_of(folder, ", may_read: [sex]", ""))
    manifest = folder / "model" / "manifest.json"
    with pytest.raises(UsageError, match="the model reads sex, which the spec protects"):
        assemble(loaded)
    codec = FeatureCodec(loaded.spec)
    bundle = load_bundle(str(manifest), sha256=None, columns=codec.columns, codec=codec)
    with pytest.raises(ModelError, match="the model reads sex, which the spec protects"):
        check_model(bundle, Model(loaded.spec.program, bundle.version, str(manifest), ""), loaded.spec)


def test_only_such_features_may_be_named_as_read(tmp_path):
    write_people(tmp_path)
    spec = with_reading_of(tmp_path, "may_read: [sex]", "may_read: [income]")
    with pytest.raises(
        SpecError, match=r"model\.may_read\[0\]: income is not protected: name features with `protected: true`"
    ):
        load_spec(spec)


def test_training_warns_when_the_model_reads_what_is_protected(reads_sex):
    folder, output, errors = reads_sex
    protected = json.loads((folder / "model" / "manifest.json").read_text())["measured"]["protected"]
    assert protected["sex"] > 0.05
    assert "protected" not in output
    assert [line for line in errors.splitlines() if "protects" in line] == [
        "warning: the model reads sex, which the spec protects or audits: another value of it alone changes "
        f"{protected['sex']:.1%} of its decisions about people of the data"
    ]


def test_a_model_that_reads_nothing_of_it_is_not_told_of():
    """Nothing depends on how trees were grown."""
    spec = msgspec.convert(
        {
            "program": "loan",
            "features": [
                {"name": "income", "type": "continuous", "bounds": [0, 100]},
                {"name": "sex", "type": "categorical", "categories": ["f", "m"], "mutable": "none", "protected": True},
                {"name": "age", "type": "integer", "bounds": [0, 100], "mutable": "none", "protected": True},
            ],
            "label": {"name": "repaid"},
            "model": {"manifest": "unused"},
        },
        ProgramSpec,
        strict=False,
    )
    codec, random = FeatureCodec(spec), np.random.default_rng(0)
    X = np.column_stack([random.random(400), np.eye(2)[random.integers(0, 2, 400)], random.random(400)])
    assert protected_use(codec, lambda rows: rows[:, 0], X) == {}
    # Half of the others have another value, and it decides wherever incomes are between the two limits.
    read = protected_use(codec, lambda rows: np.clip(rows[:, 0] + 0.2 * rows[:, 1], 0, 1), X)
    assert read == {"sex": pytest.approx(0.5 * 0.2, abs=0.02)}
    assert protected_use(codec, lambda rows: 0.6 + 0.1 * rows[:, 3], X) == {"age": 0.0}
