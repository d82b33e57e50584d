"""What the paper on durable recourse prints of its experiments (arXiv 2509.22102)."""

NOMINAL = 0.95
RF = {(1, 0.05): 0.707, (1, 0.01): 0.365}
"""Its own method, by T and beta, at RR of about .95 (table 3)."""
HYBRIDS = {"L2": (0.625, 0.256), "Wachter": (0.606, 0.303), "DiCE": (0.55, 0.247), "own": (0.707, 0.365)}
"""RF with other recommenders at beta .05 and .01, T = 1, at RR of about .95 (table 3). L2 is its Ustun."""
TABLE_1 = {"L2": (2.2e-16, 0.3), "Wachter": (0.0026, 0.27), "DiCE": (0.016, 0.36), "own": (0.0019, 0.059)}
"""The error of the score and the cost."""
GINI = {"L2": 2.3e-16, "Wachter": 0.00018, "DiCE": 0.013, "own": 0.0032}
"""Of the scores that the people of a round are told, T = 1, beta .05 (table 2)."""
BASELINE_RR = 0.4
