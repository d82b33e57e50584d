"""The words of a program: what people read, in their languages.

``form.py`` is the form of a words file, ``file.py`` reads a folder of them, ``rules.py`` says what is wrong with them,
``sentences/`` holds Onward's own sentences, and ``texts.py`` puts answers into words. Nothing else writes sentences for
people.
"""
