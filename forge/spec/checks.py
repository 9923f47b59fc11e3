"""All rules that look at more than one value, in one visible place.

Rules look at everything and touch nothing; they say where by the model's path, and Source knows the
place. FILE_RULES ask what stands beside the file, USE_RULES work on every template as it would be
rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from forge.spec.files import Files
from forge.spec.model import Environment
from forge.spec.problems import Problem
from forge.spec.rules import (
    captures,
    clusters,
    images,
    mounts,
    names,
    paths,
    ports,
    references,
    services,
    templates,
    writes,
)
from forge.spec.rules.uses import Uses, find
from forge.spec.source import Source

RULES: tuple[Callable[[Environment, Source], Iterable[Problem]], ...] = (
    names.names_are_unique,
    names.mounts_have_their_own_place,
    names.entries_have_one_source,
    names.derived_names_fit,
    references.stacks_exist,
    references.clusters_exist,
    references.stacks_waited_for_are_applied,
    references.authorities_exist,
    references.secrets_exist,
    references.forges_own_files_are_made,
    services.dependencies_exist,
    services.dependencies_are_named_once,
    services.dependencies_start_by_themselves,
    services.dependencies_lead_nowhere_round,
    services.conditions_can_come_true,
    services.checked_ports_can_be_reached,
    ports.ports_do_not_meet,
    mounts.renamed_files_are_mounted_by_folder,
    images.images_have_a_process_without_an_engine,
    clusters.drivers_have_what_they_need,
    clusters.forwarding_needs_a_shared_network,
    clusters.the_subnet_has_room,
    clusters.capture_keys_have_no_dots,
    clusters.podman_shares_at_best,
    templates.templates_stand_where_they_are_rendered,
)
FILE_RULES: tuple[Callable[[Environment, Source, Files], Iterable[Problem]], ...] = (
    paths.paths_stay_inside,
    paths.files_are_there,
)
USE_RULES: tuple[Callable[[Environment, Source, Uses], Iterable[Problem]], ...] = (
    templates.templates_lead_somewhere,
    templates.lists_can_be_repeated,
    captures.captures_are_made_before_they_are_used,
    captures.stacks_do_not_wait_in_a_circle,
    captures.repeated_captures_differ,
    writes.clusters_write_their_own_files,
)


def check(environment: Environment, source: Source, files: Files) -> Iterator[Problem]:
    """What all rules have to say about an environment whose shape is sound."""
    for rule in RULES:
        yield from rule(environment, source)
    for file_rule in FILE_RULES:
        yield from file_rule(environment, source, files)
    uses = find(environment, source, files)
    for use_rule in USE_RULES:
        yield from use_rule(environment, source, uses)
