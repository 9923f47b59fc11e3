"""What each built-in kind means: its defaults, rules and protected fields, one file a family."""
