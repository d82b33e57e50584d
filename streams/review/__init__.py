"""What people would be told by a program, and what is suspicious about it, before anybody is told.

``review.py`` has the one function, ``report.py`` what it returns. Each rule of ``rules/`` looks for one kind of harm.
"""
