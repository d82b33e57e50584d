"""One file a figure, each run by ``python -m onward.benchmarks.NAME``; ``face.py`` is what they share."""
