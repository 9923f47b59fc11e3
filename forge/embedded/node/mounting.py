"""A pod's volumes on disk, kept as the objects behind them are.

Tokens are made anew when a fifth of their life is left, as a kubelet does; nothing else has a clock.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from forge.embedded.api.values import Json
from forge.embedded.node import projection, volumes
from forge.embedded.node.hands import ACCESS_PATH, Hands, kubeconfig, write_private
from forge.embedded.node.objects import namespace_of, uid_of
from forge.embedded.process.spec import Bind

_RENEWED_AT = 0.8


@dataclass(slots=True)
class Mounting:
    """The volumes of one pod. tokens: (audience, lifetime) to (the token, when to renew it)."""

    hands: Hands
    tokens: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)

    def refresh(self, pod: Json) -> str:
        """Makes the volumes hold what they are to hold; why that is not possible, or empty."""
        stamp = f"{self.hands.cluster.clock():%Y_%m_%d_%H_%M_%S}.{os.urandom(4).hex()}"
        for volume in pod["spec"].get("volumes") or []:
            place = self._place(pod, volume)
            if volumes.is_place(volume):
                if "emptyDir" in volume:
                    place.mkdir(parents=True, exist_ok=True)
                continue
            found = volumes.content(
                volume,
                pod,
                self.hands.lookup(namespace_of(pod)),
                lambda audience, lifetime_s: self._token(pod, audience, lifetime_s),
                self.hands.capacity,
            )
            if found.problem:
                return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {found.problem}'
            try:
                projection.project(place, found.files, stamp)
            except OSError as error:
                return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
        self._write_access(pod)
        return ""

    def renew_in_s(self) -> float | None:
        """Seconds until a token is to be made anew; None without tokens."""
        times = [at for _, at in self.tokens.values()]
        return max(0.0, min(times) - self.hands.now()) if times else None

    def binds(self, pod: Json, container: Json) -> tuple[Bind, ...]:
        known = {volume["name"]: volume for volume in pod["spec"].get("volumes") or []}
        return tuple(
            self._bind(pod, known[mount["name"]], mount) for mount in container.get("volumeMounts") or []
        )

    def access(self, pod: Json) -> Path | None:
        """The file through which the pod's programs reach the API; None when it has no access."""
        place = self.hands.pod_folder(uid_of(pod)) / "kubeconfig"
        return place if self._access_volume(pod) is not None else None

    def _write_access(self, pod: Json) -> None:
        place, volume = self.access(pod), self._access_volume(pod)
        if place is not None and volume is not None and not place.exists():
            folder = str(self._place(pod, volume))
            write_private(place, kubeconfig(self.hands.url, namespace_of(pod), folder))

    def _access_volume(self, pod: Json) -> Json | None:
        mounts = [m for c in pod["spec"]["containers"] for m in c.get("volumeMounts") or []]
        names = {m["name"] for m in mounts if m["mountPath"] == ACCESS_PATH}
        return next((v for v in pod["spec"].get("volumes") or [] if v["name"] in names), None)

    def _bind(self, pod: Json, volume: Json, mount: Json) -> Bind:
        place = self._place(pod, volume)
        inner = str(mount.get("subPath") or "").strip("/")
        made = "emptyDir" in volume or (volume.get("hostPath") or {}).get("type") == "DirectoryOrCreate"
        return Bind(str(place / inner) if inner else str(place), mount["mountPath"], create=made)

    def _place(self, pod: Json, volume: Json) -> Path:
        if "hostPath" in volume:
            return Path(volume["hostPath"]["path"])
        return self.hands.pod_folder(uid_of(pod)) / "volumes" / str(volume["name"])

    def _token(self, pod: Json, audience: str, lifetime_s: int) -> str:
        now, key = self.hands.now(), (audience, lifetime_s)
        held, until = self.tokens.get(key, ("", 0.0))
        if not held or now >= until:
            held = self.hands.token(pod, audience, lifetime_s)
            if held:
                self.tokens[key] = (held, now + lifetime_s * _RENEWED_AT)
        return held
