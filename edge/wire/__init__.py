"""The HTTP/1.1 engine: framing rules, protocols, upstream, pools. The only importer of httptools.

    bytes ─► intake ─► downstream ─► turn ─► forward ─► upstream ─► bytes
             framing                  │        pool      replies
             (rules)                ports    balance     framing
                                  (Handler)

Pure, without a socket: framing, intake, replies, repeats, heads, pool, balance, breaker, wheel, sse,
messages, faults.
Shells: engine, listener, downstream, upstream, probe. Between them: turn and forward, which move one request
and are called, never awaited. What a request means is decided behind ports.Handler. How backpressure,
closing and bounds fit together is told in docs/architecture/edge-wire.md.
"""
