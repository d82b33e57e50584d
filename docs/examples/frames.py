"""People in a pandas data frame, and what each of them can do as another.

    python docs/examples/frames.py loans.yaml loans.csv

loans.yaml is a spec with a trained model; loans.csv has its features. polars' data frames serve as well.
"""

import sys

import pandas

from onward import load_program

if len(sys.argv) != 3:
    sys.exit("usage: python frames.py SPEC DATA")
_, spec, data = sys.argv

people = pandas.read_csv(data).query("region == 'north'")
options = load_program(spec).suggest(people).to_frame()
print(people.join(options[["option", "to_income", "to_debts", "cost"]], how="inner").head(3))
