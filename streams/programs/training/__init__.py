"""First models of programs: trained from a CSV or imported, and what is fitted and measured with them."""
