"""Chunks of records from Kafka to their handlers, on Faust and aiokafka."""
