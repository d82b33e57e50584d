"""What is measured of a new model: one file a measure, with ``measure(trained)`` and its words.

``quality`` has no words: it is printed as numbers. ``improvement`` stands with its file in the manifest, not in
``measured``, and what speaks against effects is found while they are fitted (``effects.py`` beside this folder).
"""
