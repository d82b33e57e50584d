"""What must be reached for a decision to be favourable."""

from .threshold import accepted

__all__ = ["accepted"]
