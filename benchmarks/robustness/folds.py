"""The data of table 1 as its reproduction prepares them: five folds, a logistic regression each, who it turns down."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

FOLDS = 5
NUMBERS = ["duration", "amount", "age"]
DROPPED = [
    *("Selected", "State", "Name", "BalanceGross", "LowDoc", "BankState"),
    *("LoanNr_ChkDgt", "MIS_Status", "Default", "Bank", "City"),
]
FIRST_LATE_YEAR = 2006
FILES = {"german": "german.csv", "sba": "SBAcase.11.13.17.csv"}


class Prepared(NamedTuple):
    """Standardised columns (N, D) with their names, labels (N,), and the standard deviation of a year of age."""

    columns: list[str]
    X: Floats
    y: NDArray[np.int64]
    scale: dict[str, float]


class Fold(NamedTuple):
    """A logistic model (D,) of four folds, and the people (n, D) of the fifth that it turns down."""

    weights: Floats
    bias: float
    people: Floats


def prepared(folder: Path, name: str) -> Prepared:
    """A data set's rows, shuffled."""
    table = pd.read_csv(folder / FILES[name], encoding="utf-8-sig")
    return (_german if name == "german" else _sba)(table.sample(frac=1, random_state=0))


def german_like(folder: Path, file: str, like: Prepared, reference: Path) -> tuple[Floats, NDArray[np.int64]]:
    """The rows of another file of the German data, in the columns and units of the first one."""
    first, table = pd.read_csv(reference), pd.read_csv(folder / file)
    numbers = (table[NUMBERS] - first[NUMBERS].mean()) / first[NUMBERS].std(ddof=0)
    status = [(table["personal_status_sex"] == int(column.rsplit("_", 1)[1])) for column in like.columns[3:]]
    return np.column_stack([numbers, *status]).astype(np.float64), table["credit_risk"].to_numpy(np.int64)


def folds(data: Prepared) -> list[Fold]:
    """The five folds, in order."""
    count, found = len(data.X), []
    for number in range(FOLDS):
        held = slice(int(number / FOLDS * count), int((number + 1) / FOLDS * count))
        others = np.ones(count, dtype=np.bool_)
        others[held] = False
        model = LogisticRegression().fit(data.X[others], data.y[others])
        people = data.X[held][model.predict(data.X[held]) == 0]
        found.append(Fold(np.ascontiguousarray(model.coef_[0]), float(model.intercept_[0]), people))
    return found


def _german(table: pd.DataFrame) -> Prepared:
    spread = table[NUMBERS].std(ddof=0)
    numbers = (table[NUMBERS] - table[NUMBERS].mean()) / spread
    status = pd.get_dummies(table["personal_status_sex"], prefix="personal_status_sex")
    X = pd.concat([numbers, status], axis=1)
    return Prepared(list(X.columns), X.to_numpy(np.float64), table["credit_risk"].to_numpy(np.int64), spread.to_dict())


def _sba(table: pd.DataFrame) -> Prepared:
    table = table.fillna(-1)
    labels = 1 - table["Default"]
    table = table.drop(columns=[name for name in DROPPED if name in table.columns])
    credit = pd.get_dummies(table["RevLineCr"].astype(str), prefix="RevLineCr")
    numbers = table.select_dtypes("number")
    numbers = numbers.loc[:, numbers.nunique() > 2]
    early = (table["ApprovalFY"] < FIRST_LATE_YEAR).to_numpy()
    numbers, credit, labels = numbers[early], credit[early], labels[early]
    spread = numbers.std(ddof=0)
    # A column that is constant in these years is 0.
    numbers = (numbers - numbers.mean()) / spread.where(spread > 0, 1.0)
    X = pd.concat([numbers, credit], axis=1)
    return Prepared(list(X.columns), X.to_numpy(np.float64), labels.to_numpy(np.int64), spread.to_dict())
