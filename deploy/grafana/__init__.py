"""The Grafana board and its provisioning."""
