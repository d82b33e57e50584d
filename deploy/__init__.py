"""How Onward is deployed; `grafana/board.py` builds the dashboard."""
