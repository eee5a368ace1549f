"""Faults on purpose, on the real kernel: one folder each, with what the diagnosis must say."""
