"""Images: what a service runs must be there on the runtime that is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from forge.spec.model import Environment
from forge.spec.problems import Problem
from forge.spec.source import Source


def images_have_a_process_without_an_engine(environment: Environment, source: Source) -> Iterator[Problem]:
    """On the embedded runtime a process stands for an image. A warning: another runtime may be asked
    for on the command line."""
    if environment.spec.runtime.provider != "embedded":
        return
    mapped = {image.name for image in environment.spec.images if image.process is not None}
    unsure = source.is_damaged(("spec", "images"))
    for index, service in enumerate(environment.spec.services):
        if service.auto_start and service.image not in mapped and not unsure:
            message = f'no process stands for the image of "{service.name}" on the embedded runtime'
            help_ = "add it to spec.images with a process; [] runs the arguments of the service"
            yield source.warning("FG0128", message, ("spec", "services", index, "image"), help=help_)
