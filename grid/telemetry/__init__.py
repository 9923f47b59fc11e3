"""Log lines, metrics and admin endpoints with bounded names and labels, for Grid and the gateway."""
