"""From the World and a gateway's perspective to one overlay. Pure and deterministic."""
