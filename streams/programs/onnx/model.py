"""ONNX models that onnxruntime scores: on one thread, in batches of a fixed size.

The kernels of onnxruntime choose their way by the size of a batch, so a row's last bits would depend on how many rows
stand beside it. A batch is always filled up to ``rows``; where that is not enough, rows are scored one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from numpy.typing import NDArray

from ....agents.rounding import to_significant
from ....schemas.encoding import FeatureCodec
from ...errors import ModelError, one_line
from ..models.row_independence import keeps_rows_apart
from .check import NEEDS_EXTRA, parse_onnx
from .cost import check_cost
from .inputs import Feeds, inputs_of, texts_of
from .score import DIGITS, FLOAT32_ROUNDING, MatrixColumns, OnnxScore

if TYPE_CHECKING:
    from onnx import ModelProto

Floats = NDArray[np.float64]

BATCH_ROWS = 32
LARGEST_DIFFERENCE = 1e-4
"""Between the score of a row in a batch and alone, of kernels that add in another order. Beyond it, rows mix."""
CHECKED_ROWS = 100


class OnnxModel:
    """A checked ONNX model with one output, and how its scores are read.

    Raises ValueError when the model does not fit ``columns`` encoded columns, or onnxruntime cannot run it.
    """

    def __init__(self, model: ModelProto, reading: OnnxScore, columns: int, codec: FeatureCodec | None) -> None:
        self.content: bytes = model.SerializeToString()
        self.reading = reading
        self._inputs = inputs_of(model, columns, codec, reading.matrix)
        if self._inputs.one_by_one and reading.rows != 1:
            raise ValueError("it takes a single row at a time")
        shapes = {name: values.shape for name, values in self._inputs.feeds(np.zeros((reading.rows, columns))).items()}
        check_cost(model, shapes, reading.rows, [] if codec is None else texts_of(codec.spec.features))
        self._output = model.graph.output[0].name
        self._session = _session(self.content)

    @property
    def features(self) -> frozenset[str] | None:
        """The names of the features that its score may depend on; None where it takes all columns."""
        return self._inputs.features

    def round_scores(self) -> None:
        """Round scores from here on to the digits that float32 is good for: those just outside of 0 to 1 are there."""
        self.reading = replace(self.reading, digits=DIGITS)

    def score(self, X: Floats) -> Floats:
        """The probability of the desired class, (n,), of encoded rows (n, D). Raises ValueError for other results."""
        scores, digits = self._scores(X), self.reading.digits
        if isinstance(digits, UnsetType):
            return scores
        near = scores.clip(0.0, 1.0)
        return to_significant(np.where(np.abs(scores - near) <= FLOAT32_ROUNDING, near, scores), digits)

    def _scores(self, X: Floats) -> Floats:
        feeds, size = self._inputs.feeds(X), self.reading.rows
        scores = np.empty(len(X))
        for start in range(0, len(X), size):
            batch = np.minimum(np.arange(start, start + size), len(X) - 1)
            scored = self._run({name: values[batch] for name, values in feeds.items()})
            scores[start : start + size] = scored[: len(X) - start]
        return scores

    def _run(self, feeds: Feeds) -> Floats:
        try:
            (output,) = self._session.run([self._output], feeds)
        except Exception as error:  # onnxruntime has no base class for its errors
            raise ValueError(f"onnxruntime cannot score it: {one_line(error)}") from None
        return _desired(np.asarray(output), self.reading.column, self.reading.rows)


class ServedOnnxModel:
    """A checked model as workers use it: a row that it cannot score has the score NaN, and ends nothing."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model

    @property
    def features(self) -> frozenset[str] | None:
        """The names of the features that its score may depend on; None where it takes all columns."""
        return self._model.features

    def score(self, X: Floats) -> Floats:
        """The probability of the desired class, (n,), of encoded rows (n, D)."""
        try:
            return self._model.score(X)
        except ValueError:
            return np.concatenate([self._score_alone(row) for row in X[:, np.newaxis]])

    def _score_alone(self, row: Floats) -> Floats:
        try:
            return self._model.score(row)
        except ValueError:
            return np.full(1, np.nan)


def load_onnx(content: bytes, reading: OnnxScore, columns: int, codec: FeatureCodec | None) -> ServedOnnxModel:
    """The model of a bundle. Raises ValueError when it is refused, or a row's score depends on the rows beside it."""
    parsed = parse_onnx(content)
    if len(parsed.graph.output) != 1:
        raise ValueError(f"it has {len(parsed.graph.output)} outputs: import it with `onward models import`")
    model = OnnxModel(parsed, reading, columns, codec)
    if not keeps_rows_apart(model.score, np.random.default_rng(0).random((CHECKED_ROWS, columns))):
        raise ValueError("here the score of a row depends on the rows beside it: import it again on this machine")
    return ServedOnnxModel(model)


def independent_model(
    model: ModelProto,
    column: int,
    columns: int,
    codec: FeatureCodec | None,
    rows: Floats,
    matrix: MatrixColumns | UnsetType = UNSET,
) -> OnnxModel:
    """The model with the largest batches in which the scores of ``rows`` (n, D) do not depend on each other.

    ``matrix`` says what the columns of a single input are. Raises ValueError where there are no such batches.
    """
    one_by_one = inputs_of(model, columns, codec, matrix).one_by_one
    single = OnnxModel(model, OnnxScore(column=column, rows=1, matrix=matrix), columns, codec)
    if not keeps_rows_apart(single.score, rows):
        raise ValueError("it gives equal rows different scores")
    if one_by_one:
        return single
    batched = OnnxModel(model, OnnxScore(column=column, rows=BATCH_ROWS, matrix=matrix), columns, codec)
    if np.abs(batched.score(rows) - single.score(rows)).max() > LARGEST_DIFFERENCE:
        raise ValueError("the score of a row depends on the rows beside it")
    return batched if keeps_rows_apart(batched.score, rows) else single


def _session(content: bytes) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ModelError(NEEDS_EXTRA) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no base class for its errors
        raise ValueError(f"onnxruntime cannot run it: {one_line(error)}") from None


def _desired(output: NDArray[Any], column: int, rows: int) -> Floats:
    """The desired class's column, (rows,), of an output (rows, 2), or an output (rows,) or (rows, 1) itself."""
    if output.shape == (rows, 2):
        output = output[:, column]
    if output.shape not in ((rows,), (rows, 1)):
        raise ValueError(f"its output is of shape {output.shape} for {rows} rows, not ({rows}, 2) or ({rows},)")
    return output.reshape(rows).astype(np.float64)
