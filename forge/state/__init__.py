"""What Forge remembers between runs: the only reader and writer of the state file and its locks."""
