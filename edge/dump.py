"""A configuration as it is understood, as YAML: defaults filled in, chains resolved for each listener,
secrets covered."""

from __future__ import annotations

import yaml

from edge.built import Built
from edge.config.redact import redact


def dump(built: Built) -> str:
    gateway = built.loaded.gateway
    chains = {chain.name: chain for chain in gateway.filter_chains}
    listeners = []
    for listener in gateway.listeners:
        entries = [
            (name, at, e) for name in listener.filter_chains for at, e in enumerate(chains[name].filters)
        ]
        filters = [
            {
                "filter": entry.filter,
                "name": entry.name,
                "chain": name,
                "chain_index": at,
                "pipeline_index": index,
                "failure_mode": entry.failure_mode,
            }
            for index, (name, at, entry) in enumerate(entries)
        ]
        listeners.append({"name": listener.name, "chains": list(listener.filter_chains), "filters": filters})
    shown = {
        "config_source": built.loaded.document.file,
        "configuration": redact(gateway.model_dump(mode="json")),
        "resolved_listeners": listeners,
    }
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True)
