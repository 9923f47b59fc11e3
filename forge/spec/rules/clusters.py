"""Clusters: what fits their driver, and what a step needs of the network."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from forge.spec.model import Cluster, Environment, LoadBalancer
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.walk import all_steps
from forge.spec.source import Source
from forge.spec.steps import CaptureStep, CoreDnsForwardStep

_RESERVED = 3  # the network's own address, its broadcast, the gateway


def drivers_have_what_they_need(environment: Environment, source: Source) -> Iterator[Problem]:
    provider = environment.spec.runtime.provider
    for index, cluster in enumerate(environment.spec.clusters):
        path: Path = ("spec", "clusters", index)
        if (
            cluster.driver == "existing"
            and cluster.context is None
            and not source.is_damaged((*path, "context"))
        ):
            message = f'"{cluster.name}" exists already, and Forge must know its kubeconfig context'
            yield source.problem("FG0125", message, (*path, "driver"), help="add context: <name>")
        yield from _unfit_keys(cluster, path, source)
        if cluster.driver == "kind" and provider == "embedded":
            message = "the embedded runtime has no container engine for a KIND cluster"
            yield source.problem(
                "FG0125", message, (*path, "driver"), help="remove driver, or change the provider"
            )


def _unfit_keys(cluster: Cluster, path: Path, source: Source) -> Iterator[Problem]:
    if cluster.driver != "existing" and cluster.context is not None:
        message = "context is only for a cluster with driver: existing"
        yield source.problem("FG0125", message, (*path, "context"), on_key=True, help="add driver: existing")
    if cluster.driver in ("existing", "embedded"):
        unfit = {"nodeImage": cluster.node_image, "kindConfig": cluster.kind_config}
        for key in [key for key, value in unfit.items() if value is not None]:
            message = f"{key} is only for a KIND cluster, and this one has driver: {cluster.driver}"
            yield source.problem("FG0125", message, (*path, key), on_key=True, help="remove it")


def forwarding_needs_a_shared_network(environment: Environment, source: Source) -> Iterator[Problem]:
    network = environment.spec.network
    if network is not None and (
        network.cross_cluster or source.is_damaged(("spec", "network", "crossCluster"))
    ):
        return
    for path, step in all_steps(environment):
        if isinstance(step, CoreDnsForwardStep):
            message = "core-dns-forward needs a network the clusters share"
            yield source.problem(
                "FG0126", message, (*path, "type"), help="set spec.network.crossCluster: true"
            )


def the_subnet_has_room(environment: Environment, source: Source) -> Iterator[Problem]:
    """For each cluster's pool, each node and each service on the network, and the gateway."""
    spec = environment.spec
    if spec.network is None or spec.network.subnet is None:
        return
    balancer = spec.network.load_balancer or LoadBalancer()
    own = [c for c in spec.clusters if c.driver != "existing"]
    pools = len(own) * balancer.pool_size if balancer.type != "none" else 0
    nodes = sum(c.nodes.control_planes + c.nodes.workers for c in own)
    services = sum(s.network == "environment" for s in spec.services)
    needed = pools + nodes + services + _RESERVED
    room = IPv4Network(spec.network.subnet).num_addresses
    if needed > room:
        message = (
            f"the subnet has {room} addresses, and the lab needs {needed}: {pools} in pools of the clusters"
        )
        help_ = "take a wider subnet, or set loadBalancer.poolSize"
        yield source.problem("FG0114", message, ("spec", "network", "subnet"), help=help_)


def capture_keys_have_no_dots(environment: Environment, source: Source) -> Iterator[Problem]:
    for path, step in all_steps(environment):
        if isinstance(step, CaptureStep) and "{{" not in step.key and "." in step.key:
            message = f'the key "{step.key}" has a dot, and captures.CLUSTER.KEY could not name it'
            help_ = f'"{step.key.replace(".", "-")}" would do'
            yield source.problem("FG0104", message, (*path, "key"), help=help_)


def podman_shares_at_best(environment: Environment, source: Source) -> Iterator[Problem]:
    network = environment.spec.network
    if environment.spec.runtime.provider == "podman" and network is not None and network.cross_cluster:
        message = "a network shared by clusters is tested on Docker; on Podman it is best effort"
        yield source.warning(
            "FG0127", message, ("spec", "runtime", "provider"), help="use docker where you can"
        )
