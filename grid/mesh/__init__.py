"""The asyncio shell round the SWIM node: UDP, TCP push and pull, lanes, persistence."""
