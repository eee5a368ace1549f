"""`exhume lab …`: one module for each word, named in src/exhume/cli/lab.py."""
