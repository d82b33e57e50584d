"""Shared parts of benchmarks on Kafka: a broker, the load, contenders and their measurement."""
