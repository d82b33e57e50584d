"""What reproduces and compares the paper on personalised recourse with preference elicitation (PEAR)."""
