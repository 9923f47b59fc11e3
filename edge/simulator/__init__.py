"""An OpenAI-compatible inference simulator with latency, queues, metrics and faults.

It answers like a small vLLM server would, without a model: text comes from the prompt (echo) or from a seed,
time comes from a latency model under load, and every misbehaviour of a real backend can be switched on while
it runs. The same request to the same seed has the same answer, whatever else is in flight.

Not simulated: several choices, tools, log probabilities, stop sequences, sampling parameters.
"""
