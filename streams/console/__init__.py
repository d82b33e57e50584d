"""The pages for applicants, case workers and owners: a process with a read model of its own.

``case_store.py`` keeps what the topics say of each case, ``follower.py`` fills it from Kafka. Inputs are read where
the journal holds them.
"""
