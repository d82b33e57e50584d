"""Drafts a program spec from a data file: a first guess, in which what nobody knows to be harmless is closed.

Numbers become ``integer`` or ``continuous`` with the bounds of the file. Columns ``NAME:CATEGORY`` of which exactly
one is 1 in every row become one categorical feature. Texts become categories when there are few different ones.
Columns that cannot be used are listed in comments. What is only guessed is marked as a guess, what people must decide
as undecided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..spec_rules import MOST_COLUMNS
from ..specfile import MAX_BYTES, parse_spec
from ..table import MAX_REPORTED, RawTable, TableError, labelled, raise_first, read_csv
from ..unlabelled import LINE
from .apart import Amounts, amounts_of
from .columns import Column, columns_of_table
from .derived import Follows, derived
from .effects import computed_lines, drafted_effects
from .features import DraftedFeature, drafted, drafted_one_hot
from .labels import DraftedLabel, LabelCodes, label_codes, label_value
from .left_out import reason_to_leave_out, reason_to_leave_out_one_hot
from .mistakes import mistakes
from .mutable import UNKNOWN, Direction, fixed_by_name, guessed
from .names import BAD_NAME, is_name, words_of
from .one_hots import Groups, dropped_groups, one_hot_groups
from .questions import DraftDecisions, DraftQuestion
from .relations import relations
from .yaml_text import flow_list, text

HEAD = """\
# Drafted from {file}: review every line before use, those marked undecided and guess first.
# mutable: none for what a person cannot change; up, down or any for what they can; follows for what
# moves by effects alone; pii: true for personal data.
# What is undecided is closed: neither its values nor its name say that people can change it. Its comment says what it
# holds. label.desired: undecided is refused until somebody writes the desired value.
# bounds are the least and the largest value of the file, rounded outwards; an application outside them is refused.
# step is the smallest change that a person is told to make, max_change the largest: 500, or 25% of their own value.
# missing stands for a value that an application lacks.
"""
POLICY = """\
policy:
  generator: search  # changes that fit this person; instances: the row of another customer, whole
  # objective: cost  # the easiest changes that the model accepts; by default those that most probably help
  # People act within `acted`, and within `outcome` it is known whether that helped, both after the recourse. Give the
  # time that outcomes truly take. Silence says nothing of anybody, unless you add how everybody is seen who acts:
  # `acting: returns` if they come back (`applicant` and `previous`), `acting: reports` if an event `acted` says so.
  window: {acted: P90D, outcome: P400D}
  options: 3  # the most ways forward that one person gets
  least_help: 0.5    # nobody is told of a change after which the wanted outcome is less probable, by the labels
  least_gain: 0.05   # nor of one that makes it more probable by less
  improvement_interval: 0.8  # options say between which probabilities they help, in 8 of 10 cases
  overshoot: limit   # a change that works only up to a point says where to stop; refuse: it is no way forward
  second_way: true   # where all ways need the same change, one that does without it takes the last place
  lasting: 0.9       # who has options that 9 of 10 models of other samples accept, is told of no other
  choice: stages     # learns who acts and whom it helps apart; protoar: the easiest first, and learns from no outcome
  # margin: 0        # how far above the threshold options score; auto: as far as makes 9 of 10 last, if it costs little
  assumed_nu: 0.5    # 6 of 10 people would change one thing over its whole range: exp(-nu); nu: where it is known
"""
SHARDS = """\
# The parts of the program that workers share out, 24 so that six partitions have some; the number cannot change later.
# Their learners tell each other what they learn. Write 1 with a promise, capacity, or a choice that tells nothing.
shards: 24
"""
NO_CONSTRAINTS = "# constraints: {{max_changes: {most}}}  # the most features that an option changes\n"
PROMISE = """\
# promise: {kind: retrains}  # in place of lasting and a margin: says how many models of other data accept an option
"""
NOTHING_CHANGES = (
    "nothing may change as drafted, so nobody would get an option: write `mutable: up`, `down` or `any` where a person "
    "can change something; until then `onward spec check` and `onward train` refuse the spec"
)
TOO_LONG = "  # There are too many features to say what each holds: draft fewer to read it.\n"
SURELY_FEW = 200
"""Features of which a spec may have as many, whatever they are."""
UNNAMED = ("other", "none of these", "no category")
"""What the category without a column may be called."""
FEW_CHANGES = 3
MOST_LABELS = 50
MANY_UNLABELLED = 0.05
"""The share of rows without a label from which a draft reads them. With few of them nothing would be another."""
READ_ROWS = """\
# {count:,} of {rows:,} rows have no label. missing: unlabelled reads them: they say what people are like and who gets a
# label, and where hardly anybody has one less help is told. Without it they are left out, as if all had a label.
"""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")


class Draft(NamedTuple):
    """The YAML of a spec, the reason for each column that is no feature, and what people must decide first.

    ``undecided`` are the features that are closed until somebody says that people can change them.
    """

    text: str
    left_out: dict[str, str]
    to_decide: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    unlabelled: int = 0
    """Rows without a label, since nobody knows yet what came of them."""
    reads_unlabelled: bool = False
    """Whether they say what people are like, and who gets a label; else they are left out."""


Progress = Callable[[int, int], None]
"""Told how many columns are done, and of how many."""


def draft_spec(
    path: str | Path, label: str, decisions: DraftDecisions | None = None, progress: Progress | None = None
) -> Draft:
    """Draft a spec for the data file at ``path`` whose label column is ``label``. Raises ``TableError``.

    ``decisions`` answer what nobody may assume; without them it stays undecided.
    """
    decisions = DraftDecisions() if decisions is None else decisions
    every = read_csv(path)
    raw = labelled(every, label)
    if not is_name(label):
        raise TableError(raw.file, 1, repr(label), BAD_NAME)
    raw, codes = _without_codes(raw, label, decisions)
    unlabelled = len(every.lines) - len(raw.lines)
    reads_others = unlabelled > 0 and unlabelled >= MANY_UNLABELLED * len(every.lines)
    columns = columns_of_table(raw, label, _unlabelled_rows(every, raw) if reads_others else None)
    drafted_label = _label(raw, label, columns, decisions, codes, unlabelled, reads_others=reads_others)
    features, left_out, computed = _features(raw, columns, drafted_label, decisions, progress)
    if not features:
        raise _no_features(raw, left_out)
    numbers = {
        name: feature.amounts
        for name, feature in features.items()
        if feature.amounts is not None and name not in computed
    }
    effects = drafted_effects(numbers, {name: feature.direction for name, feature in features.items()}, decisions)
    features |= {child: features[child].following(parent) for child, parent in effects.followed()}
    fixed = {name for name, feature in features.items() if not feature.direction.may_open}
    closed = {name for name, feature in features.items() if feature.direction.mutable in ("none", "follows")}
    most = max(1, min(FEW_CHANGES, len(features) - len(closed) - 1))
    is_stuck = len(closed) == len(features)
    before = HEAD.format(file=repr(raw.file.name)) + f"program: {_program_name(raw.file)}\nfeatures:\n"
    after = (
        drafted_label.line(),
        _of_unlabelled(unlabelled, len(every.lines), is_read=reads_others),
        _model([name for name, feature in features.items() if feature.direction.is_personal]),
        SHARDS,
        POLICY,
        relations(numbers, fixed).lines(most) or NO_CONSTRAINTS.format(most=most),
        computed_lines(computed, len(raw.lines)),
        effects.lines(),
        PROMISE,
        f"# {NOTHING_CHANGES[0].upper()}{NOTHING_CHANGES[1:]}.\n" if is_stuck else "",
    )
    written = before + _feature_lines(features, left_out) + "".join(after)
    if len(written.encode()) > MAX_BYTES:
        written = (
            before + TOO_LONG + "".join(feature.line(said=False) for feature in features.values()) + "".join(after)
        )
    _check_size(raw, written, features)
    is_open = drafted_label.desired is None
    first = (f"{label!r}: {drafted_label.to_decide()}" if is_open else "", NOTHING_CHANGES if is_stuck else "")
    undecided = (name for name, feature in features.items() if feature.direction.is_undecided)
    to_decide = (*filter(None, first), *effects.to_decide())
    return Draft(written, left_out, to_decide, tuple(undecided), unlabelled, reads_others)


def _unlabelled_rows(every: RawTable, labelled_rows: RawTable) -> RawTable:
    """The rows that are not among those with a label."""
    lines = set(labelled_rows.lines)
    return every.only([line not in lines for line in every.lines])


def _of_unlabelled(count: int, rows: int, *, is_read: bool) -> str:
    """The comment on rows without a label."""
    if not count:
        return ""
    if is_read:
        return READ_ROWS.format(count=count, rows=rows)
    return f"# Left out: {count:,} of {rows:,} rows, whose label is not given; `{LINE}` in the label reads them.\n"


def _feature_lines(features: Mapping[str, DraftedFeature], left_out: Mapping[str, str]) -> str:
    not_used = (f"  # not used, {name!r}: {reason}\n" for name, reason in left_out.items())
    return "".join([*(feature.line() for feature in features.values()), *not_used])


def _check_size(raw: RawTable, written: str, features: Mapping[str, DraftedFeature]) -> None:
    """Raise ``TableError`` for a draft that is more than a spec may be."""
    if len(features) <= SURELY_FEW and len(written.encode()) <= MAX_BYTES:
        return
    problems = parse_spec(written.encode())
    limits = (
        [problem.message for problem in problems if "no feature is mutable" not in problem.message]
        if isinstance(problems, list)
        else []
    )
    if limits:
        message = (
            f"{len(features):,} features are more than a spec may have ({limits[0]}): keep the columns that matter"
        )
        raise TableError(raw.file, None, None, message)


def _without_codes(raw: RawTable, name: str, decisions: DraftDecisions) -> tuple[RawTable, LabelCodes]:
    """The rows whose label is no code. Raises ``TableError`` for a label of too many values."""
    cells = list(map(str.strip, raw.columns[name]))
    count = len(set(cells))
    if count > MOST_LABELS:
        message = f"has {count} values: a label says what came of the applications, in at most {MOST_LABELS} values"
        raise TableError(raw.file, None, name, message)
    codes = label_codes(name, cells, decisions)
    return raw.only([label_value(cell) not in codes.values for cell in cells]) if codes.values else raw, codes


def _label(
    raw: RawTable,
    name: str,
    columns: Mapping[str, Column],
    decisions: DraftDecisions,
    codes: LabelCodes,
    unlabelled: int,
    *,
    reads_others: bool,
) -> DraftedLabel:
    """The label. Raises ``TableError`` for a column that is no outcome: it has one value."""
    cells = list(map(str.strip, raw.columns[name]))
    label = DraftedLabel(name, cells, columns.values(), decisions, codes, reads_others=reads_others)
    if len(label.values) == 1:
        message = f"{len(cells)} rows with the value {label.values[0]!r} and 0 without: too few to split 2:1:1"
        if unlabelled:
            message += (
                f"; the label of {unlabelled} is not given, so that nobody knows what came of them: write another word "
                "if it says an outcome"
            )
        raise TableError(raw.file, None, name, message)
    return label


def _features(
    raw: RawTable,
    columns: Mapping[str, Column],
    label: DraftedLabel,
    decisions: DraftDecisions,
    progress: Progress | None,
) -> tuple[dict[str, DraftedFeature], dict[str, str], dict[str, Follows]]:
    """The features by name, for each other column the reason why it is none, and the features that are computed."""
    groups, unnamed = _groups(raw, label, decisions)
    group_of = {column: group for group, members in groups.items() for column in members}
    raise_first(_mistakes(raw, [column for name, column in columns.items() if name not in group_of], label))
    columns, guesses = dict(columns), dict[str, Direction]()
    left_out: dict[str, str] = {}
    for number, (name, column) in enumerate(columns.items()):
        if progress is not None:
            progress(number, len(columns))
        group = group_of.get(name)
        if group is not None:
            reason = reason_to_leave_out_one_hot([columns[member] for member in groups[group]], label.likely)
            guess = fixed_by_name(words_of(group)) or UNKNOWN
        else:
            reason = reason_to_leave_out(column, label.likely)
            columns[name], doubt = Amounts(column) if reason else amounts_of(column, decisions)
            reason = reason or reason_to_leave_out(columns[name], label.likely)
            guess = UNKNOWN if reason else guessed(columns[name], label.is_desired, doubt)
        if reason is not None:
            left_out[group or name] = reason
        else:
            guesses[group or name] = guess
    if len(guesses) > MOST_COLUMNS:
        message = (
            f"{len(guesses):,} features are more than the {MOST_COLUMNS:,} of a spec: keep the columns that matter"
        )
        raise TableError(raw.file, None, None, message)
    numbers = [columns[name] for name in guesses if name in columns and columns[name].numbers is not None]
    follows = derived(numbers, {name: _doubt(guess) for name, guess in guesses.items()})
    computed = _computed(follows, guesses)
    left_out |= {name: how.reason for name, how in follows.items() if name not in computed}
    features: dict[str, DraftedFeature] = {}
    # Nobody is asked about a column that is no feature, or follows from others.
    for name in (name for name in guesses if name not in left_out):
        if name in groups:
            features[name] = drafted_one_hot(name, groups[name], unnamed.get(name), guesses[name], decisions)
        elif name in computed:
            features[name] = drafted(columns[name], Direction("none", computed[name].words, is_doubted=True), decisions)
        else:
            features[name] = drafted(columns[name], guesses[name], decisions)
    return features, left_out, computed


def _computed(follows: Mapping[str, Follows], guesses: Mapping[str, Direction]) -> dict[str, Follows]:
    """The columns that are kept as computed features: those that are not personal, of parts that are features."""
    computed = {name: how for name, how in follows.items() if not guesses[name].is_personal}
    while gone := [name for name, how in computed.items() if not _are_kept(how.parts, follows, computed)]:
        for name in gone:
            del computed[name]
    return computed


def _are_kept(parts: Iterable[str], follows: Mapping[str, Follows], computed: Mapping[str, Follows]) -> bool:
    return all(part not in follows or part in computed for part in parts)


def _groups(raw: RawTable, label: DraftedLabel, decisions: DraftDecisions) -> tuple[Groups, dict[str, str]]:
    """The features of one-hot columns, and the category of those that have one without a column, as somebody says."""
    groups = one_hot_groups(raw, label.name)
    unnamed: dict[str, str] = {}
    for name, columns in dropped_groups(raw, label.name, groups).items():
        seen = f"at most one of {', '.join(columns)} is 1 in every row, and none in some"
        if decisions.decide(DraftQuestion("dropped", name, seen, (True, False))):
            groups[name] = columns
            unnamed[name] = next(text for text in UNNAMED if text not in columns.values())
    return groups, unnamed


def _mistakes(raw: RawTable, columns: Sequence[Column], label: DraftedLabel) -> Iterator[TableError]:
    """The cells that cannot be meant, of columns that would else be features."""
    for column in columns:
        found = list(mistakes(raw, column))
        if found and reason_to_leave_out(column.without_strays(), label.likely) is None:
            yield from found


def _doubt(direction: Direction) -> int:
    """How little is known of a feature: 0 that nobody can change it, 1 a direction, 2 nothing."""
    return 2 if direction.is_undecided else 0 if direction.mutable == "none" else 1


def _model(protected: Sequence[str]) -> str:
    allowed = f"  # training leaves out what is protected; may_read: {flow_list(protected)} lets the model decide by it"
    return f"model: {{manifest: model/manifest.json}}{allowed if protected else ''}\n"


def _no_features(raw: RawTable, left_out: Mapping[str, str]) -> TableError:
    reasons = [TableError(raw.file, 1, repr(name), f"not used: {reason}") for name, reason in left_out.items()]
    return TableError(raw.file, None, None, "no column can be a feature", *reasons[:MAX_REPORTED])


def _program_name(file: Path) -> str:
    name = _NOT_IN_NAMES.sub("-", file.stem.lower()).strip("-._")[:63]
    return text(name or "program")
