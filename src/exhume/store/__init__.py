"""Segments, roll-ups, retention and every question asked of a recording."""
