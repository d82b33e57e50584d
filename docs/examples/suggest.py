"""From labelled data to suggestions in Python, without Kafka.

    python docs/examples/suggest.py loans.csv

Copy loans.csv from docs/examples: it has the columns that SPEC names below, and the spec and the model go beside it.
docs/python.md explains it step by step.
"""

import sys
from pathlib import Path

from onward import NoRecourse, OnwardError, draft_spec, load_program, train

SPEC = """\
program: loans
features:
  - {name: income, type: integer, bounds: [0, 100], unit: kEUR, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {objective: cost, generator: search, choice: protoar, options: 3}
"""

if len(sys.argv) != 2:
    sys.exit("usage: python suggest.py DATA")
data = Path(sys.argv[1])
folder = data.parent

# A draft of the spec; SPEC is what it is after people have reviewed it.
print(draft_spec(data, label="repaid").splitlines()[0])
spec = folder / "reviewed.yaml"
spec.write_text(SPEC)

# The model.
manifest = train(data, spec, folder / "model", estimator="logistic_regression")
if quality := manifest.measured.quality:
    print(f"accuracy {quality.accuracy:.2f}")

# What two people are told, in words.
program = load_program(spec)
people = [
    {"name": "ada", "income": 55, "debts": 6, "region": "north"},
    {"name": "bob", "income": 95, "debts": 0, "region": "south"},
]
suggestions = program.suggest(people, id="name")
print(suggestions)
print(suggestions.summary())

# The same in numbers.
ada = suggestions["ada"]
if isinstance(ada, NoRecourse):
    sys.exit(f"{ada.reason}: {ada.detail}")
for option in ada.options:
    steps = {change.feature: (change.current, change.target) for change in option.changes}
    print(f"{option.cost:.3f} {option.execution_probability:.2f} {steps}")

# What rejected people of the data would be told, and what is suspicious about it.
review = program.review(data, people=50)
print(f"{review.sample} rejected people would be told {review.options} options")
for suspicion in review.suspicions:
    print(f"{suspicion.place}: {suspicion.text}")

# What cannot be used is told in one line.
try:
    program.suggest([{"income": "a lot", "debts": 8, "region": "north"}])
except OnwardError as error:
    print(error)
