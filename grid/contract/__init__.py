"""What gateways and verifiers may see of Grid: the overlay document, its digest, its names. No I/O."""
