"""ctr registers what an archive names, by the names and ids that kind asks crictl for."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from tests.kind.node.crictl import image
from tests.kind.node.ctr import archived, qualified

ID = "a" * 64


@pytest.mark.parametrize(
    ("config", "compression"),
    [
        pytest.param(f"{ID}.json", "w", id="of an older engine"),
        pytest.param(f"blobs/sha256/{ID}", "w", id="of a newer engine"),
        pytest.param(f"blobs/sha256/{ID}", "w:gz", id="compressed"),
    ],
)
def test_an_archive_names_its_images(config: str, compression: str) -> None:
    manifest = [{"Config": config, "RepoTags": ["app:1", "registry.test/app:1"]}]
    found = archived(io.BytesIO(archive({"manifest.json": json.dumps(manifest)}, compression)))
    assert found == {"docker.io/library/app:1": f"sha256:{ID}", "registry.test/app:1": f"sha256:{ID}"}


def test_an_archive_without_names_has_no_image() -> None:
    manifest = [{"Config": f"{ID}.json", "RepoTags": None}]
    assert archived(io.BytesIO(archive({"manifest.json": json.dumps(manifest)}))) == {}


def test_an_archive_of_something_else_has_no_image() -> None:
    assert archived(io.BytesIO(archive({"readme": "nothing"}))) == {}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("app", "docker.io/library/app:latest", id="a bare name"),
        pytest.param("app:1", "docker.io/library/app:1", id="a name and a tag"),
        pytest.param("team/app:1", "docker.io/team/app:1", id="a folder is no registry"),
        pytest.param("registry.test/app", "registry.test/app:latest", id="a registry and no tag"),
        pytest.param("localhost/app:1", "localhost/app:1", id="localhost is a registry"),
        pytest.param("registry:5000/app", "registry:5000/app:latest", id="a port is no tag"),
    ],
)
def test_a_reference_is_kept_whole(reference: str, expected: str) -> None:
    assert qualified(reference) == expected


def test_an_image_is_found_by_any_of_its_names_and_by_its_id() -> None:
    known = {"docker.io/library/app:1": f"sha256:{ID}", "docker.io/library/app:2": f"sha256:{ID}"}
    expected = {"id": f"sha256:{ID}", "repoTags": sorted(known)}
    assert image(known, "app:1") == image(known, "docker.io/library/app:2") == image(known, ID) == expected
    assert image(known, "app:3") is None


def archive(files: dict[str, str], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as made:  # type: ignore[call-overload]  # of a table's row
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            made.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()
