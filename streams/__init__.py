"""From Kafka records to recourses and fates: ingest, journal, engine, ledger, and what runs them."""
