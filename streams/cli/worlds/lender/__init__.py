"""The world of a lender: labels of approved people only, outcomes after a year, and several measures of one thing."""

from .world import LenderWorld

__all__ = ["LenderWorld"]
