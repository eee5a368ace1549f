"""Asks a recording what the diagnosis wants to know, and hands it over as values."""
