"""Answers in, rich renderables out: no files, no clock, no store. Names are hostile (cli.safe)."""
