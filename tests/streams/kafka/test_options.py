from __future__ import annotations

import confluent_kafka
import pytest

from onward.streams.errors import UsageError
from onward.streams.kafka.connection import worker_options
from onward.streams.kafka.options import KafkaOptions
from onward.streams.settings import WorkerSettings

SECURE = {
    "brokers": ("kafka:9093",),
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "onward",
    "sasl_password": "hunter2",
    "ssl_keyfile_password": "hunter3",
}


def test_secrets_are_not_shown():
    options = KafkaOptions(**SECURE)
    assert "hunter" not in repr(options) + str(options)
    assert "SCRAM-SHA-512" in repr(options)


def test_sasl_reaches_both_clients():
    options = KafkaOptions(**SECURE)
    assert (
        options.aiokafka().items()
        >= {
            "bootstrap_servers": ["kafka:9093"],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": "onward",
            "sasl_plain_password": "hunter2",
        }.items()
    )
    assert options.confluent()["sasl.password"] == "hunter2"
    confluent_kafka.Producer(options.confluent(), logger=None)


def test_tls_uses_the_given_authority(tmp_path):
    missing = str(tmp_path / "ca.pem")
    options = KafkaOptions(brokers=("kafka:9093",), security_protocol="SSL", ssl_cafile=missing)
    with pytest.raises(UsageError, match=r"TLS files .*ca\.pem cannot be used"):
        options.aiokafka()
    assert options.confluent()["ssl.ca.location"] == missing
    assert KafkaOptions(brokers=("kafka:9093",), security_protocol="SSL").aiokafka()["ssl_context"].check_hostname


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"brokers": ()}, "give host:port"),
        ({"brokers": ("kafka",)}, "brokers are 'kafka': give host:port"),
        ({"brokers": ("kafka:0",)}, "give host:port"),
        ({"security_protocol": "SASL_SSL"}, "needs a SASL user name and a password"),
        ({"heartbeat_ms": 20_000}, "at most a third of the session timeout"),
        ({"chunk_records": 0}, "a chunk has at least 1 record"),
    ],
)
def test_invalid_options_are_refused_with_the_reason(changes, message):
    with pytest.raises(UsageError, match=message):
        KafkaOptions(**({"brokers": ("kafka:9092",)} | changes))


KEY = """-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF

AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
-----END EC PRIVATE KEY-----
"""


def test_files_of_tls_that_cannot_be_used_are_told_without_a_question(tmp_path):
    """A key with a password that nobody gave: OpenSSL would ask for it on the terminal."""
    for name, text in (("cert.pem", "no certificate"), ("key.pem", KEY)):
        (tmp_path / name).write_text(text)
    files = {"ssl_certfile": str(tmp_path / "cert.pem"), "ssl_keyfile": str(tmp_path / "key.pem")}
    options = KafkaOptions(brokers=("kafka:9093",), security_protocol="SSL", **files)
    with pytest.raises(UsageError, match=r"TLS files .*cert\.pem, .*key\.pem cannot be used"):
        options.check_tls()
    KafkaOptions(brokers=("kafka:9093",), **files).check_tls()
    settings = WorkerSettings(
        brokers="kafka:9093", spec=str(tmp_path / "a"), state_dir=tmp_path, security_protocol="SSL", **files
    )
    with pytest.raises(UsageError, match="TLS files"):
        worker_options(settings)


def test_what_only_librdkafka_cannot_use_is_told_too(tmp_path, monkeypatch):
    (tmp_path / "ca.pem").write_text("not a certificate")
    monkeypatch.setattr(KafkaOptions, "ssl_context", lambda self: None)
    options = KafkaOptions(brokers=("kafka:9093",), security_protocol="SSL", ssl_cafile=str(tmp_path / "ca.pem"))
    with pytest.raises(UsageError, match=r"TLS files .*ca\.pem cannot be used: .*ssl\.ca\.location"):
        options.check_tls()
