"""The names that ``import onward`` offers to Python programs. The command ``onward`` uses the same functions."""
