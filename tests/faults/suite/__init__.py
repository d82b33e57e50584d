"""The fault suite: production workers on a Kafka of three brokers, killed, suspended, starved, and then checked.

python -m onward.tests.faults.suite --seed 7 --minutes 10
"""
