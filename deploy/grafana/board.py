"""The Grafana board, built from ``ROWS``: ``python -m onward.deploy.grafana.board`` writes ``dashboards/onward.json``.

A metric that no panel of ``ROWS`` shows has one in the row "Others", by its declaration. A query may use
``$program`` (a regular expression), ``$__rate_interval`` and ``$__range``. A test runs every query on a real
Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Literal, NamedTuple

from grafana_foundation_sdk.builders import barchart, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueTextMode, LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef, DataTransformerConfig, VariableRefresh
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from onward.streams.engine.rewards.summary import CERTAIN, USUAL
from onward.streams.metrics import Declared, Metrics

FILE = Path(__file__).parent / "dashboards" / "onward.json"
SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
GRID_COLUMNS, PANEL_HEIGHT = 24, 8
RESOLVED = "onward_resolved_options_total"
Panel = stat.Panel | timeseries.Panel | barchart.Panel


class Query(NamedTuple):
    """A PromQL expression and how its series are named, with labels in double braces."""

    expression: str
    legend: str


class PanelSpec(NamedTuple):
    """One panel: time series, or one big number when ``number`` is set, or bars over the label ``bars``.

    ``unit`` is Grafana's name of it.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str
    number: bool
    bars: str | None


def _panel(
    title: str, about: str, *queries: Query | str, unit: str = "short", number: bool = False, bars: str | None = None
) -> PanelSpec:
    """A panel. The series of an expression alone are named after its labels."""
    named = tuple(_named(query) if isinstance(query, str) else query for query in queries)
    return PanelSpec(title, about, named, unit, number, bars)


def _flow(title: str, about: str, metric: str, *labels: str) -> PanelSpec:
    """How often something happens."""
    return _panel(title, about, _rate(metric, *labels), unit="ops")


def _named(expression: str, name: str = "") -> Query:
    """A query whose series are named after the labels ``by`` which the expression aggregates, and by ``name``."""
    labels = expression.partition("by (")[2].partition(")")[0].split(", ")
    return Query(expression, " ".join([*(f"{{{{{label}}}}}" for label in labels), *([name] if name else [])]))


def _chosen(labels: Sequence[str]) -> str:
    """The programs that the board shows, of a metric with these labels."""
    return '{program=~"$program"}' if "program" in labels else ""


def _rate(metric: str, *labels: str, window: str = "$__rate_interval") -> str:
    return f"sum by ({', '.join(labels)}) (rate({metric}{_chosen(labels)}[{window}]))"


def _quantiles(metric: str, *labels: str, window: str = "$__rate_interval") -> Iterator[Query]:
    rates, names = _rate(f"{metric}_bucket", "le", *labels, window=window), [f"{{{{{label}}}}}" for label in labels]
    for share in (0.5, 0.99):
        yield Query(f"histogram_quantile({share}, {rates})", " ".join((f"p{round(share * 100)}", *names)))


def _mean_by_decile(total: str) -> str:
    """The mean of what a counter sums, for each decile of the execution probability, over the time that is shown."""
    sums = (f'sum by (decile) (increase({name}{{program=~"$program"}}[$__range]))' for name in (total, RESOLVED))
    return " / ".join(sums)


def _recent(metric: str, *labels: str) -> str:
    """A sum over the last outcomes of all shards."""
    return f'sum by ({", ".join(labels)}) (onward_recent_{metric}{{program=~"$program"}})'


def _drifts(of: Literal["=", "!="]) -> str:
    """The drifts of the last day: of rewards, or of all else."""
    return f'increase(onward_drift_detected_total{{program=~"$program",drifted{of}"rewards"}}[1d])'


def _latest(metric: str, *labels: str) -> str:
    """A gauge that one worker at a time shows: of two that hand a program over, the larger value."""
    return f'max by ({", ".join(("program", *labels))}) ({metric}{{program=~"$program"}})'


def _omega(sign: str) -> str:
    """An end of the interval of omega: as many standard deviations below or above as name a feature."""
    omega, deviation = (_latest(f"onward_feature_{name}", "feature") for name in ("omega", "omega_sd"))
    return f"{omega} {sign} {CERTAIN:g} * {deviation}"


def _sum(metric: str, *labels: str) -> str:
    """A gauge of which every worker shows its part."""
    return f'sum by ({", ".join(("program", *labels))}) ({metric}{{program=~"$program"}})'


def _last_day(metric: str, *labels: str) -> str:
    return f'sum by ({", ".join(("program", *labels))}) (increase({metric}{{program=~"$program"}}[1d]))'


def _mean(sums: str, people: str, *labels: str) -> str:
    """A mean over the people of the last day."""
    return f"{_last_day(sums, *labels)} / {_last_day(people, *labels)}"


def _by_group(sums: str, people: str) -> str:
    """A mean over the people of each group that is watched."""
    return _mean(f"onward_audited_{sums}_total", f"onward_audited_{people}_total", "feature", "group")


ROWS: dict[str, tuple[PanelSpec, ...]] = {
    "State": (
        _panel(
            "Workers ready",
            "Workers that have caught up.",
            Query('sum(onward_ready{job="onward"})', "ready"),
            number=True,
        ),
        _panel("Version", "What runs.", 'count by (version) (onward_info{job="onward"})', number=True),
        _panel("Open recourses", "Recourses that wait for their fate.", _sum("onward_open_recourses"), number=True),
        _panel(
            "Mean expected reward",
            "Of the recourses given; known only where a simulator publishes it.",
            'avg by (program) (onward_expected_reward_mean{program=~"$program"})',
            unit="percentunit",
            number=True,
        ),
    ),
    "People": (
        _flow("Applications", "Accepted applications.", "onward_applications_total", "program"),
        _flow("Decisions", "Approved and rejected.", "onward_decisions_total", "program", "decision"),
        _flow(
            "Answers", "Rejected people with a way forward, and with none.", "onward_recourses_total", "program", "kind"
        ),
        _flow(
            "Without a way forward",
            "Rejected people without a recourse, by reason (docs/reference/events.md).",
            "onward_no_recourse_total",
            "program",
            "reason",
        ),
        _flow(
            "Protected reasons",
            "Rejections of which a feature that the spec protects would be a principal reason; should be none.",
            "onward_protected_reasons_total",
            "program",
            "feature",
        ),
        _panel(
            "Time to an answer",
            "From the application's record time to the acknowledged recourse.",
            *_quantiles("onward_recourse_latency_seconds", "program"),
            unit="s",
        ),
        _flow("Questions", "Asked, answered and expired.", "onward_questions_total", "program", "state"),
        _panel(
            "Open questions",
            "Questions to rejected people that wait for an answer, by how long ago the person was asked first.",
            _sum("onward_open_questions", "age"),
        ),
        _panel(
            "Picks before a recourse",
            "Recourses in the last day of programs that ask, by the number of picks that they rest on.",
            _last_day("onward_elicited_recourses_total", "answers"),
        ),
        _panel(
            "Regret told and seen",
            "By how much the first option is expected to be worse than the best plan, in cost: as people who were "
            "asked are told, and as their picks then let it seem. Where more is seen, people differ from the prior.",
            _named(_mean("onward_regrets_told_total", "onward_regrets_total"), "told"),
            _named(_mean("onward_regrets_seen_total", "onward_regrets_total"), "seen"),
        ),
    ),
    "Learning": (
        _flow("Fates", "What became of recourses and outcomes.", "onward_fates_total", "program", "fate"),
        _panel(
            "Outcome delay",
            "Event time from a recourse to its outcome, over the last hour's outcomes.",
            *_quantiles("onward_outcome_delay_seconds", "program", window="1h"),
            unit="s",
        ),
        _panel(
            "Outcome delay in steps",
            "Answers given between a recourse and its outcome, over the last hour's outcomes.",
            *_quantiles("onward_outcome_delay_steps", "program", window="1h"),
        ),
        _panel(
            "Predicted and observed, by decile",
            "Mean execution probability of the options whose reward is known, and their mean reward. A reward needs "
            "an improvement too, so that the second is smaller by one factor where the first is right.",
            Query(_mean_by_decile("onward_predicted_executions_total"), "predicted"),
            Query(_mean_by_decile("onward_observed_rewards_total"), "observed"),
            unit="percentunit",
            bars="decile",
        ),
        _flow(
            "Acting, by how it is known",
            "People of whom it is known whether they carried an option out, in programs that learn by stages.",
            "onward_acting_total",
            "program",
            "seen",
        ),
        _flow(
            "Improvements that name no option",
            "Of several options nobody knows which was carried out.",
            "onward_unnamed_outcomes_total",
            "program",
        ),
    ),
    "Is it true?": (
        _panel(
            "Predicted and observed rewards, by decile",
            "Of the last outcomes, by tenths of the reward that was predicted. They are equal where the program knows "
            "what helps people.",
            *tuple(
                Query(f"{_recent(f'{kind}_rewards', 'decile')} / {_recent('outcomes', 'decile')}", kind)
                for kind in ("predicted", "observed")
            ),
            unit="percentunit",
            bars="decile",
        ),
        _panel(
            "Calibration error",
            "The mean distance of the two over deciles. Of few outcomes it is large by chance.",
            f"sum by (program) (abs({_recent('predicted_rewards', 'program', 'decile')}"
            f" - {_recent('observed_rewards', 'program', 'decile')})) / {_recent('outcomes', 'program')}",
            unit="percentunit",
        ),
        _panel(
            "Stated and seen acting",
            "Of people of whom it became known in the last day: the probability with which they were thought to carry "
            "an option out, and the share who did.",
            *tuple(
                Query(_mean(f"onward_{kind}_acting_total", "onward_known_acting_total"), kind)
                for kind in ("stated", "seen")
            ),
            unit="percentunit",
        ),
        _panel(
            "Outcomes it is known of",
            "The last ones of each shard, at most 1,000, since the last drift.",
            _recent("outcomes", "program"),
        ),
        _panel(
            "Drift of rewards",
            "In the last day: how often rewards have moved away from what was predicted of them.",
            f"sum by (program) ({_drifts('=')})",
        ),
        _panel(
            "Omega by feature",
            "How much less a feature's changes help than the labels say: 0 as expected, 1 not at all; and between what "
            f"it lies, by two standard deviations. A feature that is above {USUAL:g} at least helps less.",
            _latest("onward_feature_omega", "feature"),
            *(_named(_omega(sign), end) for sign, end in (("-", "at least"), ("+", "at most"))),
        ),
        _panel(
            "Difficulty by feature",
            "How many times as hard as assumed a feature's changes are.",
            _latest("onward_feature_difficulty", "feature"),
        ),
    ),
    "Groups": (
        _panel(
            "Have an option",
            "Share of the last day's rejected people who got an option, by their value of each feature with `audit`. "
            "Groups far apart are served differently.",
            _by_group("recourses", "people"),
            unit="percentunit",
        ),
        _panel(
            "Satisfied",
            "Share of them for whom an option costs little enough, as their recourses say where costs are sampled.",
            _by_group("satisfied", "people"),
            unit="percentunit",
        ),
        _panel("Cost", "Mean cost of the easiest option of those who got one.", _by_group("cost", "recourses")),
    ),
    "Console": (
        _panel(
            "Behind the topics",
            "Time since they had been read to their end.",
            Query("max(onward_console_lag_seconds)", "behind"),
            unit="s",
        ),
        _panel(
            "Forms that wait",
            "What people have sent and Kafka has not taken.",
            Query("max(onward_console_outbox)", "forms"),
        ),
        _panel(
            "Oldest form that waits",
            "Nobody but the console has it until it is sent.",
            Query("max(onward_console_outbox_age_seconds)", "waits"),
            unit="s",
        ),
        _flow(
            "Requests", "For pages, by the status of their answer.", "onward_console_requests_total", "site", "status"
        ),
        _panel(
            "Refused links",
            "Links of the last hour that do not work: they are cut off, too old, taken back or made up.",
            Query("sum(increase(onward_console_refused_links_total[1h]))", "refused"),
        ),
    ),
    "Limited places": (
        _panel(
            "Coverage against nominal",
            "Of all who came back with their target score, the share that got a place; and the share that the spec "
            "says. A long-run average.",
            _named(_latest("onward_coverage_achieved_ratio"), "achieved"),
            _named(_latest("onward_coverage_nominal_ratio"), "nominal"),
            unit="percentunit",
        ),
        _panel(
            "Thresholds and goals",
            "The lowest score that got a place in the last round, and the score that the rejected are told to reach.",
            _named(_latest("onward_threshold_score"), "threshold"),
            _named(_latest("onward_goal_score"), "goal"),
        ),
        _panel(
            "Drift",
            "Closed rounds of the last day that showed a drift, by what has drifted.",
            f"sum by (program, drifted) ({_drifts('!=')})",
        ),
        _panel("Promises ended", "In the last day, by status.", _last_day("onward_promises_ended_total", "status")),
        _panel(
            "Ignored names",
            "Applications of the last day that name an earlier one without its applicant: they come back with nothing.",
            _last_day("onward_ignored_previous_total"),
        ),
        _panel(
            "Open promises by age",
            "The age is the number of rounds that have been closed since the promise's own.",
            Query(_latest("onward_open_promises", "age"), "{{program}} age {{age}}"),
        ),
        _panel(
            "Came back with their target score",
            "How many people the achieved coverage is a share of.",
            _latest("onward_coverage_people"),
        ),
        _panel(
            "Waiting for their round",
            "Applications whose round is not closed; and those for which no round is announced.",
            _latest("onward_waiting_applications"),
            _named(_latest("onward_applications_without_round"), "without a round"),
        ),
        _panel("Rounds closed", "In the last day.", _last_day("onward_rounds_total")),
        _panel(
            "Round overdue",
            "How long the earliest round could have been closed and is not, by this clock; and since when the last "
            "closed one has ended.",
            _named(f"clamp_min(time() - {_latest('onward_next_round_timestamp_seconds')}, 0)", "overdue"),
            _named(f"time() - {_latest('onward_last_round_timestamp_seconds')}", "since the last"),
            unit="s",
        ),
    ),
    "Promises": (
        _panel(
            "Open options",
            "Options that are promised and open; and those that an unfinished look under a new model has not reached.",
            _sum("onward_open_options"),
            _named(_sum("onward_unseen_options"), "to look at"),
        ),
        _panel(
            "Options under new models",
            "In the last day, by what the model means for them.",
            _last_day("onward_revalidated_options_total", "result"),
        ),
        _panel(
            "Broken by model version",
            "Options that the newest model has broken whose look at the open options is finished.",
            _sum("onward_broken_options", "model"),
        ),
        _panel(
            "Worst margin",
            "By how much the least of the accepted scores exceeded the threshold, in the last finished look.",
            'min by (program) (onward_worst_margin{program=~"$program"})',
            unit="percentunit",
        ),
    ),
    "Records": (
        _flow("Read", "Records from the input topics.", "onward_ingested_records_total", "topic"),
        _flow(
            "Dead letters",
            "Records that could not be used, by reason.",
            "onward_dead_letters_total",
            "reason",
        ),
        _flow(
            "Beyond the quota",
            "Unusable records that share dead letters, by topic.",
            "onward_merged_dead_letters_total",
            "topic",
        ),
        _flow(
            "Ahead of the clock",
            "Events too far ahead of the worker's clock to move time so far, by topic.",
            "onward_events_ahead_total",
            "topic",
        ),
        _flow(
            "Expired unread",
            "Records that Kafka deleted before they were read, by topic.",
            "onward_expired_records_total",
            "topic",
        ),
        _flow("Repeats", "Events left out because they had been seen.", "onward_duplicates_total", "event"),
        _panel(
            "Models applied",
            "Announced models in the last day, once in each partition of the journal.",
            _named(_last_day("onward_models_total"), "model"),
            _named(_last_day("onward_specs_total"), "spec"),
        ),
        _panel(
            "Increments",
            "What shards have told each other of what they have learned: missing means that an increment never came.",
            _last_day("onward_increments_total", "result"),
        ),
        _panel(
            "Erasures",
            "People who were to be forgotten in the last day, once in each partition of the journal: whether anything "
            "of them was there.",
            _last_day("onward_erasures_total", "result"),
        ),
        _panel(
            "Events of erased people",
            "Events in the last day that came after their person was erased, and were left out.",
            _last_day("onward_erased_events_total", "event"),
        ),
        _panel(
            "Options that people would take",
            "Answers of people in the last day, by the place of the option in their recourse, or none. "
            "Where most take a late place, or none, the options do not suit.",
            _last_day("onward_picks_total", "place"),
        ),
        _panel(
            "Waiting",
            "Events that wait for an earlier one.",
            Query("sum by (partition) (onward_waiting_events)", "partition {{partition}}"),
        ),
    ),
    "Work": (
        _panel(
            "Lag",
            "Records not read yet.",
            Query("max by (topic, partition) (onward_lag_records)", "{{topic}}/{{partition}}"),
        ),
        _panel(
            "Watermark age",
            "How far event time is behind the clock.",
            Query("time() - max by (partition) (onward_watermark_timestamp_seconds)", "partition {{partition}}"),
            unit="s",
        ),
        _panel("Chunk time", "By stage of the work.", *_quantiles("onward_chunk_seconds", "stage"), unit="s"),
        _panel(
            "Chunk size",
            "Mean records in a chunk.",
            Query(
                "sum(rate(onward_chunk_records_sum[$__rate_interval]))"
                " / sum(rate(onward_chunk_records_count[$__rate_interval]))",
                "records",
            ),
        ),
        _panel(
            "Processor",
            "Cores in use, by worker.",
            Query('rate(process_cpu_seconds_total{job="onward"}[$__rate_interval])', "{{instance}}"),
        ),
        _panel(
            "Memory",
            "Resident memory, by worker.",
            Query('process_resident_memory_bytes{job="onward"}', "{{instance}}"),
            unit="bytes",
        ),
    ),
    "Snapshots": (
        _panel(
            "Snapshot age",
            "Since a partition's newest snapshot was taken: about what a worker without its ledger folds again.",
            Query("time() - max by (partition) (onward_snapshot_timestamp_seconds)", "partition {{partition}}"),
            unit="s",
        ),
        _panel(
            "Snapshot time",
            "To take one and to restore one, over the last hour.",
            *_quantiles("onward_snapshot_seconds", "action", window="1h"),
            unit="s",
        ),
        _panel(
            "Snapshot failures",
            "Those that could not be taken, or were refused, in the last hour.",
            "sum by (action) (increase(onward_snapshot_failures_total[1h]))",
        ),
        _panel(
            "Where the journal begins",
            "The offset at which its owner has cut it; nothing where it is kept for ever.",
            "max by (partition) (onward_journal_begin_offset)",
        ),
        _panel(
            "Cuts that did not succeed",
            "Nothing is deleted then, and what people have sent stays longer than --journal-days says.",
            "sum by (partition) (increase(onward_journal_cut_failures_total[1h]))",
        ),
    ),
}


OTHERS = "Others"
"""The row of the metrics that no panel of ``ROWS`` shows."""


def rows() -> Mapping[str, Sequence[PanelSpec]]:
    """The rows of the board."""
    text = " ".join(query.expression for query in queries(ROWS))
    others = [_declared_panel(metric) for metric in Metrics().declared if not shows(text, metric.name)]
    return {**ROWS, OTHERS: others} if others else ROWS


def shows(text: str, metric: str) -> bool:
    """Whether a metric is among those that some expressions name."""
    return re.search(rf"\b{metric}(_bucket|_sum|_count)?\b", text) is not None


def _declared_panel(metric: Declared) -> PanelSpec:
    """A panel of a metric: a rate for a counter, quantiles for a histogram, the largest value for a gauge."""
    name, labels = metric.name, metric.labels
    title = name.removeprefix("onward_").removesuffix("_total").replace("_", " ").capitalize()
    if metric.type == "counter":
        return _flow(title, metric.documentation, name, *labels)
    if metric.type == "histogram":
        return _panel(title, metric.documentation, *_quantiles(name, *labels))
    return _panel(title, metric.documentation, f"max by ({', '.join(labels)}) ({name}{_chosen(labels)})")


def queries(rows: Mapping[str, Sequence[PanelSpec]]) -> Iterator[Query]:
    """Every query of some rows."""
    for views in rows.values():
        for view in views:
            yield from view.queries


def render() -> str:
    """The board as Grafana's JSON."""
    board = (
        dashboard.Dashboard("Onward")
        .uid("onward")
        .description("People served, what became of them, and how the workers do.")
        .tags(["onward"])
        .refresh("10s")
        .time("now-30m", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("source").label("Data source").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("program")
            .label("Program")
            .datasource(SOURCE)
            .query("label_values(onward_applications_total, program)")
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(".*")
        )
    )
    for title, views in rows().items():
        board = board.with_row(dashboard.Row(title))
        for view in views:
            board = board.with_panel(_built(view, GRID_COLUMNS // min(len(views), 3 if not view.number else 4)))
    return JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"


def _built(view: PanelSpec, columns: int) -> Panel:
    panel = _empty_panel(view).title(view.title).description(view.about).unit(view.unit).span(columns)
    panel = panel.datasource(SOURCE)
    for name, query in zip(ascii_uppercase, view.queries, strict=False):
        target = prometheus.Dataquery().ref_id(name).expr(query.expression).legend_format(query.legend)
        panel = panel.with_target(target.instant().format(PromQueryFormat.TABLE) if view.bars else target)
    return panel


def _empty_panel(view: PanelSpec) -> Panel:
    if view.number:
        return stat.Panel().height(PANEL_HEIGHT // 2).text_mode(BigValueTextMode.VALUE_AND_NAME)
    legend = VizLegendOptions().show_legend(True).placement(LegendPlacement.BOTTOM)
    legend = legend.display_mode(LegendDisplayMode.LIST)
    if view.bars is None:
        return timeseries.Panel().height(PANEL_HEIGHT).min(0).legend(legend).fill_opacity(10)
    panel = barchart.Panel().height(PANEL_HEIGHT).min(0).legend(legend).x_field(view.bars).x_tick_label_max_length(20)
    for transformation in _one_row_a_label(view, view.bars):
        panel = panel.with_transformation(transformation)
    return panel


def _one_row_a_label(view: PanelSpec, label: str) -> Iterator[DataTransformerConfig]:
    """Join the queries' tables by a label; a column is named after its query."""
    names = {f"Value #{ref}": query.legend for ref, query in zip(ascii_uppercase, view.queries, strict=False)}
    times = {f"Time{number}": True for number in ("", *(f" {n}" for n in range(1, len(names) + 1)))}
    yield DataTransformerConfig(id_val="joinByField", options={"byField": label, "mode": "outer"})
    yield DataTransformerConfig(id_val="organize", options={"excludeByName": times, "renameByName": names})
    yield DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": label}]})


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
