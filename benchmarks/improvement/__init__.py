"""ARLIM's protocol as a benchmark: its worlds, methods, experiments, references, tables and figures."""
