"""Membership by SWIM, sans I/O: bytes and instants in, outputs out. No socket, clock or thread."""
