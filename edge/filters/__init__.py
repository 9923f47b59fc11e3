"""One small class a file. Filters do not know each other and do no I/O."""
