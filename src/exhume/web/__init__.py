"""The read-only HTTP API over a recording; the page will be served from here too."""
