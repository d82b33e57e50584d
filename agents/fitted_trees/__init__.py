"""Fitted forests and boosters of scikit-learn as flat trees, scored bit for bit as it scores them."""
