"""The rules that look at more than one value of the file, one small function each.

A rule takes (Environment, Source) and yields problems; forge/spec/checks.py lists them all. Rules
do no I/O: what stands beside the file is asked through the Files port.
"""
