from onward.streams.cli import main

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
    spec.write_text(SPEC)
    train = ["train", str(data), "--spec", str(spec), "--estimator", "logistic_regression"]
    assert main([*train, "--output", str(tmp_path / "model")]) == 0
    told = capsys.readouterr().out
    assert "recourse instances: 7 kept of 15 found (candidates in the spec: 7)\n" in told
    assert len((tmp_path / "model" / "instances.csv").read_text().splitlines()) == 1 + 7
