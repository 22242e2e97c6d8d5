"""Functions with a right derivative and a wrong one: what the harness has to tell apart."""
