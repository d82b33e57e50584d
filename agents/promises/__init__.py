"""What an option guarantees, and until when."""

from ..registry import Registry
from .contract import Promise
from .nothing import NoPromise

registry = Registry(Promise, __name__, __path__)  # type: ignore[type-abstract]
"""Every promise by the name that a program spec's ``policy.promise`` uses."""

__all__ = ["NoPromise", "Promise", "registry"]
