"""Every built-in strategy and controller in one visible place."""

from __future__ import annotations

from forge.embedded.api import accounts, bootstrap, crds, expiry, gc, namespaces
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.controllers import Controller
from forge.embedded.api.reviews import Judges
from forge.embedded.api.strategies import access, config, definitions, others, pods, services, workloads


def load() -> None:
    """Makes sure that every strategy is registered: importing them does it."""
    _ = (access, config, definitions, others, pods, services, workloads)


def controllers(cluster: Cluster, judges: Judges) -> tuple[Controller, ...]:
    """The API's own controllers, in the order in which a start runs each once."""
    return (
        bootstrap.Keeper(cluster),
        namespaces.Furnisher(cluster),
        namespaces.Terminator(cluster),
        crds.Establisher(cluster),
        gc.Collector(cluster),
        accounts.TokenFiller(cluster, judges),
        accounts.Aggregator(cluster),
        expiry.Sweeper(cluster),
    )
