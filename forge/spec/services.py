"""Standalone services, as forge.yaml writes them. Shape only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from forge.spec.shape import (
    AbsolutePath,
    Address,
    Duration,
    Filled,
    Flag,
    ImageName,
    Label,
    Pause,
    Port,
    RelativePath,
    Shape,
    Text,
    Variable,
    Whole,
    refuse,
    seconds,
)

Condition = Literal["started", "healthy", "completed"]


class Dependency(Shape):
    """A service this one waits for. A plain name is short for an object with only that name."""

    name: Label = Field(description="The service to wait for.")
    condition: Condition | None = Field(
        default=None,
        description=(
            "What to wait for: started, healthy (its health check passes) or completed (it exited with 0). "
            "Left out: healthy where the service has a health check and healthGate, else started."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        whole = handler(core)
        target = handler.resolve_ref_schema(whole)
        form = {
            k: target.pop(k)
            for k in ("type", "properties", "required", "additionalProperties")
            if k in target
        }
        target["anyOf"] = [{"type": "string", "description": "The service to wait for."}, form]
        return whole


class PortMapping(Shape):
    """A port of the service, published on this machine."""

    bind_address: Address | None = Field(
        default=None, description="Host address to listen on. Left out: every address (0.0.0.0)."
    )
    host: Port = Field(description="Port on this machine, 1 to 65535.")
    container: Port = Field(description="Port the service listens on, 1 to 65535.")
    protocol: Literal["tcp"] = Field(default="tcp", description="Only tcp is supported.")


class Volume(Shape):
    """A file or folder of this machine that the service sees."""

    source: RelativePath = Field(
        description="Path relative to the folder of this file; what begins with .forge/ is Forge's own."
    )
    target: AbsolutePath = Field(description="Absolute path inside the service.")
    read_only: Flag = Field(default=False, description="Whether the service is kept from writing there.")


class HealthCheck(Shape):
    """How Forge finds out whether a service works. All times are durations such as 500ms or 2s."""

    type: Literal["tcp", "http", "exec"] = Field(
        description="tcp: a connection opens. http: GET answers 200 to 399. exec: a command exits with 0."
    )
    port: Port | None = Field(default=None, description="Port inside the service; for tcp and http.")
    path: Text = Field(default="/", pattern="^/", description="Path to GET; for http.")
    command: tuple[Filled, ...] = Field(default=(), description="Command and arguments; for exec.")
    interval: Duration = Field(default="1s", description="Time between two checks.")
    timeout: Duration = Field(default="1s", description="Time one check may take.")
    retries: Annotated[Whole, Field(ge=1, le=300)] = Field(
        default=3, description="Failures in a row that make it unhealthy, 1 to 300."
    )
    start_period: Pause = Field(
        default="0s", description="Time after the start in which failures do not count."
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.type == "exec" and not self.command:
            raise refuse("FG0105", "an exec health check needs a command")
        if self.type != "exec" and self.port is None:
            raise refuse("FG0105", f"a {self.type} health check needs a port")
        return self

    @property
    def interval_s(self) -> float:
        return seconds(self.interval)

    @property
    def timeout_s(self) -> float:
        return seconds(self.timeout)

    @property
    def start_period_s(self) -> float:
        return seconds(self.start_period)


class Service(Shape):
    """One program of the lab that runs beside the clusters: a container, or a process."""

    name: Label = Field(description="Name, unique in the file. Its container is <environment>-<name>.")
    image: ImageName = Field(description="Image reference; spec.images may say how it is made or mapped.")
    auto_start: Flag = Field(default=True, description="Whether `up` starts it.")
    network: Literal["environment", "host", "none"] = Field(
        default="none",
        description="environment: the lab's own network. host: this machine's. none: the engine's default.",
    )
    depends_on: tuple[Dependency, ...] = Field(default=(), description="Services that must come first.")
    ports: tuple[PortMapping, ...] = Field(default=(), description="Ports published on this machine.")
    volumes: tuple[Volume, ...] = Field(default=(), description="Files and folders it sees.")
    env: Mapping[Variable, Text] = Field(
        default_factory=dict, repr=False, description="Environment variables; templates are legal in values."
    )
    args: Annotated[tuple[Annotated[Text, Field(max_length=4096)], ...], Field(max_length=128)] = Field(
        default=(), repr=False, description="Arguments; templates are legal."
    )
    restart: Literal["no", "on-failure", "always", "unless-stopped"] = Field(
        default="no", description="When the engine starts it again by itself."
    )
    inherit_host_group: Flag = Field(
        default=False, description="Whether it also runs with the group of the state folder."
    )
    health_check: HealthCheck | None = Field(default=None, description="How Forge checks that it works.")
    health_gate: Flag = Field(
        default=True, description="Whether dependents, and `up` itself, wait until it is healthy."
    )
    after: tuple[Annotated[Text, Field(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")], ...] = Field(
        default=(), description="Stacks that must be applied before it starts, each as <cluster>/<stack>."
    )
    from_cluster: Label | None = Field(
        default=None, description="The cluster that `cluster` means in this service's templates."
    )

    def condition_for(self, dependency: Dependency, target: Service) -> Condition:
        """What this service waits for in *target*, with the default filled in."""
        if dependency.condition:
            return dependency.condition
        return "healthy" if target.health_check and target.health_gate else "started"
