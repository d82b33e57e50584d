"""The fault suite: production workers on a real Kafka of three brokers, killed, stopped, starved, and then checked.

python -m onward.faults --seed 7 --minutes 10
"""
