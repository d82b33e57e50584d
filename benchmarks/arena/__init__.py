"""Where contenders meet: a broker, the load, and processes that are measured from outside."""
