"""What is not given is told to nobody, by whatever way options are found, and is nobody's rejection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas
import pytest

import onward
from onward import Recourse
from onward.streams.api.suggestions import Suggestions


def targets(suggestions: Suggestions, feature: str) -> Counter[object]:
    """How often options change a feature to each value."""
    options = [option for answer in suggestions if isinstance(answer, Recourse) for option in answer.options]
    return Counter(change.target for option in options for change in option.changes if change.feature == feature)


@pytest.mark.parametrize("generator", ["search", "linear", "plans, cost: mixed"])
def test_no_option_reaches_a_code_within_the_bounds(folder: Path, generator: str) -> None:
    people = pandas.read_csv(folder / "loans.csv").head(150)
    text = (folder / "loans.yaml").read_text().replace("generator: search", f"generator: {generator}")
    spec = folder / "codes.yaml"
    spec.write_text(text)
    for feature in ("debts", "income"):
        told = targets(onward.load_program(spec).suggest(people), feature)
        code = told.most_common(1)[0][0]
        missing = int(people[feature].median())
        line = f"name: {feature}, "
        assert text.count(line) == 1
        coded = folder / "coded.yaml"
        coded.write_text(text.replace(line, f"{line}missing: {missing}, not_given: [{code}], "))
        program = onward.load_program(coded)
        again = program.suggest(people)
        assert targets(again, feature)
        assert code not in targets(again, feature)
        # Somebody with the code is somebody without a value.
        [one, other] = ({**people.iloc[0].to_dict(), feature: value} for value in (code, None))
        assert program.score([one]) == program.score([other])


def test_rows_whose_label_is_not_given_change_no_model(folder: Path, tmp_path: Path) -> None:
    rows = (folder / "loans.csv").read_text().splitlines()
    width = len(rows[0].split(","))
    assert rows[0].endswith("repaid")
    open_rows = [",".join(["whatever"] * (width - 1) + [label]) for label in ("", "NA", "?", "None", "unknown")]
    data = tmp_path / "loans.csv"
    data.write_text("\n".join([*rows[:200], *open_rows, *rows[200:]]))
    with pytest.warns(onward.OnwardWarning, match="5 rows are left out: their label is not given"):
        manifest = onward.train(data, folder / "loans.yaml", tmp_path / "model", estimator="logistic_regression")
    assert manifest.measured.data.unlabelled.rows == 5
    text = (folder / "loans.yaml").read_text().replace("model/manifest.json", f"{tmp_path}/model/manifest.json")
    spec = tmp_path / "loans.yaml"
    spec.write_text(text)
    people = pandas.read_csv(folder / "loans.csv").head(50)
    assert onward.load_program(spec).score(people) == onward.load_program(folder / "loans.yaml").score(people)
