"""The terminal: one file per command; `render` turns answers into what is shown."""
