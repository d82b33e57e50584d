"""Records to Kafka, idempotently."""
