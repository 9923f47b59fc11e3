"""Edge is the gateway: it performs the routing from memory, and never does I/O to decide a request."""
