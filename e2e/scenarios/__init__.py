"""The scenarios, a file each: SCENARIO is a value. They do not know each other; e2e/main.py lists them."""
