"""ARLIM's experiments: methods, worlds and what the paper and its authors' code found."""

from pathlib import Path

ARLIM_SPEC = Path(__file__).with_name("loan_arlim.yaml")
"""The program of the generated population, with most directions open as in ARLIM's experiments."""
