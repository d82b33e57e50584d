"""Settings: every flag of a command that reaches Kafka is also an environment variable ``ONWARD_...``.

``--chunk-records 200`` and ``ONWARD_CHUNK_RECORDS=200`` are the same setting; the flag wins. Commands that work on
files have flags alone. An empty variable
counts as absent. Secrets are masked wherever a settings object is printed. What one command alone reads stands in its
file.
"""

from .base import BrokerSettings, FlagSettings, SaslMechanism, SecurityProtocol, Settings
from .worker import LARGEST_RECORD_BYTES, LogFormat, LogLevel, WorkerSettings
from .world import WorldSettings

__all__ = [
    "LARGEST_RECORD_BYTES",
    "BrokerSettings",
    "FlagSettings",
    "LogFormat",
    "LogLevel",
    "SaslMechanism",
    "SecurityProtocol",
    "Settings",
    "WorkerSettings",
    "WorldSettings",
]
