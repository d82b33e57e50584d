"""Build tools: schemas and tables of the docs, written from the code."""
