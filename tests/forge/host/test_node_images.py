"""What nodes say of their images is read as containerd means it."""

from __future__ import annotations

import pytest

from forge.host import node_images


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("app", "docker.io/library/app:latest", id="a bare name"),
        pytest.param("app:1", "docker.io/library/app:1", id="a name and a tag"),
        pytest.param("team/app:1", "docker.io/team/app:1", id="a folder is no registry"),
        pytest.param("registry.test/app", "registry.test/app:latest", id="a registry and no tag"),
        pytest.param("localhost/app:1", "localhost/app:1", id="localhost is a registry"),
        pytest.param("registry:5000/app", "registry:5000/app:latest", id="a port is no tag"),
        pytest.param("x.test/app@sha256:ab", "x.test/app@sha256:ab", id="by digest"),
    ],
)
def test_a_reference_is_qualified(reference: str, expected: str) -> None:
    assert node_images.qualified(reference) == expected


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        pytest.param("", "overlayfs", id="nothing"),
        pytest.param("no = [toml", "overlayfs", id="no TOML"),
        pytest.param(
            '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "fuse-overlayfs"',
            "fuse-overlayfs",
            id="version 2",
        ),
        pytest.param(
            '[plugins."io.containerd.cri.v1.images"]\nsnapshotter = "native"', "native", id="version 3"
        ),
    ],
)
def test_the_snapshotter(configuration: str, expected: str) -> None:
    assert node_images.snapshotter(configuration) == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param([{"docker.io/library/app:1": "a"}] * 2, "a", id="alike"),
        pytest.param([{"docker.io/library/app:1": "a"}, {}], None, id="missing on one"),
        pytest.param(
            [{"docker.io/library/app:1": "a"}, {"docker.io/library/app:1": "b"}], None, id="another on one"
        ),
    ],
)
def test_nodes_have_it_alike_or_not_at_all(held: list[dict[str, str]], expected: str | None) -> None:
    assert node_images.alike(held, "app:1") == expected
