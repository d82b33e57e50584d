"""The alert rules: each fires when it should and only then, as Prometheus' own promtool says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ruamel.yaml import YAML

from onward.streams.console.metrics import DECLARED
from onward.streams.engine.rewards.summary import CERTAIN, USUAL
from onward.streams.metrics import Metrics

PROMTOOL = shutil.which("promtool")
FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = FOLDER / "alerts.yml"
PROMTOOL_IS_THERE = pytest.mark.skipif(
    PROMTOOL is None, reason="needs the program promtool (Debian: apt-get install prometheus)"
)
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
PROGRAM = '{program="grants"}'


def rules() -> list[dict[str, Any]]:
    """Every rule of the file."""
    return [rule for group in YAML(typ="safe").load(RULES)["groups"] for rule in group["rules"]]


class Case(NamedTuple):
    """Series as promtool writes them (a value, then the change an interval and how many more), and the alerts that fire
    after some time; Prometheus' clock begins at 0 seconds."""

    about: str
    series: dict[str, str]
    after: str
    fires: tuple[str, ...]
    interval: str = "1m"


def coverage(achieved: float, people: int) -> dict[str, str]:
    """What a worker of a program with coverage .95 shows."""
    return {
        f"onward_coverage_achieved_ratio{PROGRAM}": f"{achieved}+0x60",
        f"onward_coverage_nominal_ratio{PROGRAM}": "0.95+0x60",
        f"onward_coverage_people{PROGRAM}": f"{people}+0x60",
    }


def ahead(events: str) -> dict[str, str]:
    """Events of one topic that say a time too far ahead."""
    return {'onward_events_ahead_total{topic="outcomes"}': events}


def expired(records: str) -> dict[str, str]:
    """Records of one topic that nobody had read when they were deleted."""
    return {'onward_expired_records_total{topic="outcomes"}': records}


def not_cut(failures: str) -> dict[str, str]:
    """Cuts of one partition's journal that did not succeed."""
    return {'onward_journal_cut_failures_total{partition="0"}': failures}


def falling(later: int) -> dict[str, str]:
    """A week in which 96 of 100 people an hour got a place, and another, in which so many of ten an hour did."""
    people = np.cumsum([100] * 7 * 24 + [10] * 7 * 24)
    places = np.cumsum([96] * 7 * 24 + [later] * 7 * 24)
    values = {
        "onward_coverage_people": people,
        "onward_coverage_achieved_ratio": places / people,
        "onward_coverage_nominal_ratio": np.full(len(people), 0.95),
    }
    return {f"{name}{PROGRAM}": " ".join(map(str, hourly)) for name, hourly in values.items()}


def two_workers(first: str, second: str) -> dict[str, str]:
    """A program that moves from one worker to another: the first one shows what it knew last."""
    name = "onward_next_round_timestamp_seconds"
    return {
        f'{name}{{program="grants", instance="{instance}"}}': own for instance, own in (("a", first), ("b", second))
    }


def looked(broken: str, accepted: str, replaced: str = "0+0x60") -> dict[str, str]:
    """What a worker counts of the looks at open options."""
    name = "onward_revalidated_options_total"
    counts = {"broken": broken, "accepted": accepted, "replaced": replaced, "cleared": "0+0x60"}
    return {f'{name}{{program="grants", result="{result}"}}': values for result, values in counts.items()}


def refused(letters: str, read: str = "0+100x180", reason: str = "malformed_json") -> dict[str, str]:
    """What a worker counts of the records it reads, and of those that it could not use."""
    return {
        f'onward_dead_letters_total{{reason="{reason}"}}': letters,
        'onward_ingested_records_total{topic="applications"}': read,
    }


def lag(values: str) -> dict[str, str]:
    """What a worker shows of a partition that it reads."""
    return {'onward_lag_records{topic="journal", partition="3"}': values}


def watermark(values: str, instance: str = "b") -> dict[str, str]:
    """What a worker shows of a journal partition that it owns."""
    return {f'onward_watermark_timestamp_seconds{{partition="3", instance="{instance}"}}': values}


def rewards(predicted: float, outcomes: int, observed: float = 0.5) -> dict[str, str]:
    """What two workers show of a program that predicts all rewards alike: half of the outcomes each."""
    sums = {"outcomes": 1.0, "predicted_rewards": predicted, "observed_rewards": observed}
    labels = 'program="grants", decile="0.5-0.6"'
    return {
        f'onward_recent_{name}{{{labels}, instance="{instance}"}}': f"{mean * outcomes / 2}+0x60"
        for name, mean in sums.items()
        for instance in ("a", "b")
    }


def feature(omega: float, deviation: float) -> dict[str, str]:
    """What a worker shows of a feature."""
    labels = '{program="grants", feature="telephone"}'
    return {f"onward_feature_omega{labels}": f"{omega}+0x60", f"onward_feature_omega_sd{labels}": f"{deviation}+0x60"}


def drifted(what: str) -> dict[str, str]:
    """What a worker counts of drifts: one, after ten minutes."""
    return {f'onward_drift_detected_total{{program="grants", drifted="{what}"}}': "0+0x9 1+0x120"}


def fates(**fates: str) -> dict[str, str]:
    """What a worker counts of fates."""
    return {f'onward_fates_total{{program="grants", fate="{fate}"}}': values for fate, values in fates.items()}


def acting(stated: str, seen: str, known: str = "0+5x60") -> dict[str, str]:
    """What a worker counts of people of whom it is known whether they acted."""
    counts = {"stated": stated, "seen": seen, "known": known}
    return {f"onward_{name}_acting_total{PROGRAM}": values for name, values in counts.items()}


def pages(failed: str, served: str = "0+5x60") -> dict[str, str]:
    """What a console counts of the pages that it was asked for."""
    counts = {"500": failed, "200": served}
    return {f'onward_console_requests_total{{site="applicants", status="{code}"}}': n for code, n in counts.items()}


UNNAMED = f"onward_unnamed_outcomes_total{PROGRAM}"
PROTECTED = 'onward_protected_reasons_total{program="grants", feature="sex"}'
UNSEEN = f"onward_unseen_options{PROGRAM}"
UNANNOUNCED = f"onward_applications_without_round{PROGRAM}"
DUE = f"onward_next_round_timestamp_seconds{PROGRAM}"
BEHIND = "onward_console_lag_seconds"
OLDEST = "onward_console_outbox_age_seconds"
LINKS = "onward_console_refused_links_total"
TWO_WEEKS = "335h"
CASES = (
    Case("the coverage is far below", coverage(0.91, 200), "11m", ("OnwardCoverageBelowNominal",)),
    Case("it was below for a moment", coverage(0.91, 200), "9m", ()),
    Case("it is a little below", coverage(0.925, 5000), "30m", ()),
    Case("few people have come back", coverage(0.5, 199), "30m", ()),
    Case("nobody has come back", {f"onward_coverage_nominal_ratio{PROGRAM}": "0.95+0x60"}, "30m", ()),
    Case("the coverage has fallen this week", falling(8), TWO_WEEKS, ("OnwardRecentCoverageBelowNominal",), "1h"),
    Case("it has not", falling(10), TWO_WEEKS, (), "1h"),
    Case("a round is not closed in time", {DUE: "600+0x60"}, "21m", ("OnwardRoundOverdue",)),
    Case("a round is being closed", {DUE: "600+0x60"}, "19m", ()),
    Case("the round was closed, the next is due later", {DUE: "600+0x9 3600+0x60"}, "21m", ()),
    Case("a later owner has closed the round", two_workers("600+0x60", "_x9 3600+0x60"), "21m", ()),
    Case("people wait for no round", {UNANNOUNCED: "7+0x120"}, "61m", ("OnwardNoRoundAnnounced",)),
    Case("they have waited for a moment", {UNANNOUNCED: "7+0x120"}, "59m", ()),
    Case("nobody waits for no round", {UNANNOUNCED: "0+0x120"}, "61m", ()),
    Case("a model breaks many options", looked("0+0x9 60+0x120", "0+0x9 940+0x120"), "30m", ("OnwardOptionsBroken",)),
    Case("a model breaks a few", looked("0+0x9 40+0x120", "0+0x9 960+0x120"), "30m", ()),
    Case(
        "what is replaced was counted as broken",
        looked("0+0x9 60+0x120", "0+0x9 940+0x120", "0+0x9 60+0x120"),
        "30m",
        ("OnwardOptionsBroken",),
    ),
    Case("a model broke many long ago", looked("0+0x9 60+0x120", "0+0x9 940+0x120"), "75m", ()),
    Case("no model has come", looked("0+0x120", "0+0x120"), "30m", ()),
    Case("options are looked at for long", {UNSEEN: "0+0x9 900-1x120"}, "71m", ("OnwardRevalidationUnfinished",)),
    Case("options are looked at for a while", {UNSEEN: "0+0x9 900-30x29 0+0x120"}, "60m", ()),
    Case("rewards are not as predicted", rewards(0.65, 500), "11m", ("OnwardRewardsMiscalibrated",)),
    Case("people improve more often than predicted", rewards(0.35, 500), "11m", ("OnwardRewardsMiscalibrated",)),
    Case("rewards are about as predicted", rewards(0.58, 500), "30m", ()),
    Case("few outcomes are known", rewards(0.8, 498), "30m", ()),
    Case("many outcomes are late", fates(late="0+1x120", rewarded="0+2x120"), "2h", ("OnwardOutcomesLate",)),
    Case("some outcomes are late", fates(late="0+1x120", rewarded="0+9x120"), "2h", ()),
    Case("few outcomes are known, and late", fates(late="0+1x8", rewarded="0+1x8"), "2h", ()),
    Case("outcomes name none", {UNNAMED: "0+1x120", **fates(rewarded="0+4x120")}, "2h", ("OnwardOutcomesUnnamed",)),
    Case("most outcomes name one", {UNNAMED: "0+1x120", **fates(rewarded="0+20x120")}, "2h", ()),
    Case("hardly anybody acts", acting("0+3x60", "0+0.5x60"), "5h", ("OnwardActingMiscalibrated",), "5m"),
    Case("people act as stated", acting("0+3x60", "0+2.5x60"), "5h", (), "5m"),
    Case("of few it is known", acting("0+3x20", "0+0.5x20", "0+5x20"), "5h", (), "5m"),
    Case(
        "a feature helps less than expected",
        feature(USUAL + 1.05 * CERTAIN * 0.1, 0.1),
        "11m",
        ("OnwardFeatureHelpsLess",),
    ),
    Case("it may help as expected", feature(USUAL + 0.95 * CERTAIN * 0.1, 0.1), "30m", ()),
    Case("a protected feature decides", {PROTECTED: "_x9 1+0x120"}, "20m", ("OnwardProtectedReason",)),
    Case("a model comes", {'onward_models_total{program="loans"}': "_x9 1+0x50"}, "20m", ("OnwardModelChanged",)),
    Case("a spec changes", {'onward_specs_total{program="loans"}': "1+0x9 2+0x50"}, "20m", ("OnwardModelChanged",)),
    Case("a model came", {'onward_models_total{program="loans"}': "1+0x200"}, "3h", ()),
    Case("it decides again", {PROTECTED: "5+0x9 6+0x120"}, "20m", ("OnwardProtectedReason",)),
    Case("it decided two days ago", {PROTECTED: "1+0x60"}, "49h", (), "1h"),
    Case("rewards have drifted", drifted("rewards"), "20m", ("OnwardRewardsDrifted",)),
    Case("rewards drifted long ago", drifted("rewards"), "80m", ()),
    Case("thresholds have drifted", drifted("threshold"), "20m", ()),
    Case("many records cannot be used", refused("0+2x180"), "61m", ("OnwardDeadLetters",)),
    Case("a few cannot be used", refused("0+2x180", "0+500x180"), "61m", ()),
    Case("the only records cannot be used", refused("0 1 9+0x180", "0 1 9+0x180"), "61m", ("OnwardDeadLetters",)),
    Case("most of few records cannot be used", refused("0 1 6+0x180", "0 2 10+0x180"), "59m", ("OnwardDeadLetters",)),
    Case("half of few records cannot be used", refused("0 1 5+0x180", "0 2 10+0x180"), "59m", ()),
    Case("most of the first records can be used", refused("9+0x180", "1000+0x180"), "10m", ()),
    Case("there are no records", refused("0+0x180", "0+0x180"), "61m", ()),
    Case("a burst of dead letters is the first of its reason", refused("_x90 500+0x90"), "95m", ("OnwardDeadLetters",)),
    Case("a burst of dead letters is over", refused("_x10 500+0x170"), "75m", ()),
    Case("a worker has begun anew since the burst", refused("0 500+0x30 _x2 3+0x120"), "100m", ()),
    Case("an event was ahead of the clock", ahead("_x90 1+0x90"), "95m", ("OnwardEventsAhead",)),
    Case("events were ahead before the last hour", ahead("0 5+0x170"), "75m", ()),
    Case(
        "cuts fail hour after hour", not_cut("0+0x6 1+0x12 2+0x12 3+0x12 4+0x12"), "4h", ("OnwardJournalNotCut",), "5m"
    ),
    Case("a cut fails once", not_cut("0+0x6 1+0x60"), "4h", (), "5m"),
    Case("records expired unread", expired("_x90 7+0x90"), "95m", ("OnwardRecordsExpired",)),
    Case("records expired before the last hour", expired("0 7+0x170"), "75m", ()),
    Case("a partition is far behind", lag("0 2000+10x60"), "18m", ("OnwardLag",)),
    Case("a partition is behind for a while", lag("0 2000-50x38 0+0x60"), "32m", ()),
    Case("a partition catches up now and then", lag("2000+0x9 10 2000+0x9 10 2000+0x30"), "32m", ()),
    Case("the watermark stands still", watermark("0+60x9 600+0x60"), "26m", ("OnwardPartitionStopped",)),
    Case("it has stood still for a moment", watermark("0+60x9 600+0x60"), "22m", ()),
    Case("the watermark follows the clock", watermark("0+60x60"), "40m", ()),
    Case("nobody has the partition", watermark("0+60x9 _x60"), "25m", ("OnwardPartitionStopped",)),
    Case("nobody had it for a moment", watermark("0+60x9 _x60"), "18m", ()),
    Case(
        "another worker has taken the partition",
        watermark("0+60x9 _x60") | watermark("_x12 720+60x60", "a"),
        "30m",
        (),
    ),
    Case("the console is behind", {BEHIND: "400+60x30"}, "11m", ("OnwardConsoleLag",)),
    Case("it has never read to the end", {BEHIND: "NaN+0x30"}, "11m", ("OnwardConsoleLag",)),
    Case("it was behind for a moment", {BEHIND: "0+60x8 0+0x30"}, "20m", ()),
    Case("a form is not sent", {OLDEST: "0+60x30"}, "8m", ("OnwardConsoleOutbox",)),
    Case("forms are sent after a while", {OLDEST: "0+60x4 0+0x30"}, "8m", ()),
    Case("somebody tries links", {LINKS: "0+1x120"}, "61m", ("OnwardConsoleLinksRefused",)),
    Case("a few links are too old", {LINKS: "0+1x40 40+0x80"}, "61m", ()),
    Case("pages end in errors", pages("0+1x60"), "20m", ("OnwardConsoleErrors",)),
    Case("a page ends in an error", pages("0+0x9 1+0x60", "0+1x9 9+0x60"), "20m", ()),
    Case("few of many pages do", pages("0+1x60", "0+50x60"), "20m", ()),
    Case("the console is down", {'up{job="console", instance="c"}': "0+0x30"}, "6m", ("OnwardNoConsole",)),
    Case("it is started again", {'up{job="console", instance="c"}': "0+0x3 1+0x30"}, "6m", ()),
    Case("the only worker is down", {'up{job="onward", instance="b"}': "1+0x3 0+0x60"}, "10m", ("OnwardNoWorker",)),
    Case("it is not for long", {'up{job="onward", instance="b"}': "1+0x7 0+0x60"}, "10m", ()),
    Case("one of two is down", {'up{job="onward", instance="a"}': "0+0x60"}, "10m", ()),
)


@PROMTOOL_IS_THERE
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_an_alert_fires_when_it_should(case: Case, tmp_path: Path) -> None:
    series = {'up{job="onward", instance="b"}': "1+0x400", **case.series}
    firing = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in case.fires]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": case.interval,
        "tests": [
            {
                "interval": case.interval,
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [{"expr": FIRING, "eval_time": case.after, "exp_samples": firing}],
            }
        ],
    }
    path = tmp_path / "test.json"
    path.write_text(json.dumps(test))
    told = promtool("test", "rules", str(path))
    assert told.returncode == 0, told.stdout + told.stderr


def promtool(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROMTOOL), *args], capture_output=True, text=True, check=False)


@PROMTOOL_IS_THERE
def test_the_configuration_and_its_rules_are_valid() -> None:
    told = promtool("check", "config", str(FOLDER / "prometheus.yml"))
    assert told.returncode == 0, told.stderr
    assert f"SUCCESS: {len(rules())} rules found" in told.stdout


def test_rules_ask_for_metrics_that_there_are() -> None:
    asked = set(re.findall(r"onward_\w+", " ".join(rule["expr"] for rule in rules())))
    assert asked
    assert asked <= {metric.name for metric in (*Metrics().declared, *DECLARED)}


def test_every_alert_fires_in_one_case_and_is_silent_in_another() -> None:
    for rule in rules():
        if "record" in rule:
            continue
        assert {rule["alert"] in case.fires for case in CASES} == {True, False}
