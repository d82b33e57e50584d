"""What a command starts and stops: a worker process, a web server, signal handling, logging of the Kafka clients."""
