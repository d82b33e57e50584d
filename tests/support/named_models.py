"""The models that outputs name."""

from __future__ import annotations

import msgspec

from onward.testing.pipeline import PipelineRun


def models_in(run: PipelineRun) -> set[tuple[str, str, str | None]]:
    """The topic, version and hash of every model that an output names."""
    events = [
        (topic, msgspec.json.decode(value)) for topic, outputs in run.outputs().items() for _, value, _, _ in outputs
    ]
    return {(topic, event["model"], event.get("model_sha256")) for topic, event in events if "model" in event}
