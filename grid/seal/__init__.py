"""Sealed datagrams and trust between sites: AEAD, keyring, fingerprints, the private-key guard."""
