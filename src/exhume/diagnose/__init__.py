"""Findings and observations → a case: symptom ◄ mechanism ◄ root cause, each link tested. Pure."""
