"""Onward on Kafka: the only place that imports Faust, aiokafka and confluent-kafka."""
