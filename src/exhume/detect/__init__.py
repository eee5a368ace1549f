"""Series → findings: one module for each part of the machine, one function for each claim. Pure."""
