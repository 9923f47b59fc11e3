"""One file a kind of resource, each with desire, observe, apply and remove. Kinds do not know each other."""
