"""The generator reads types, tags, markers and comments out of Go source."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.embedded.api.openapi.generate import (
    Source,
    build,
    description,
    expand,
    friendly,
    main,
    markers,
    shape,
    write,
)
from forge.embedded.api.openapi.gosource import package

TYPES = """package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Color of a thing.
// +enum
type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

// Part is a part.
// +structType=atomic
type Part struct {
	// Name of the part.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// PartSource is inlined.
type PartSource struct {
	// +optional
	Path *string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// Thing is a thing.
//
// TODO: not shown
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	// Parts of it.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=parts"`

	// Source of it.
	PartSource `json:",inline" protobuf:"bytes,3,opt,name=partSource"`
	// +default="red"
	Shade Color `json:"shade,omitempty" protobuf:"bytes,4,opt,name=shade,casttype=Color"`
	Hidden string `json:"-"`
}

type Empty struct{}
"""
META = 'package v1\n\ntype TypeMeta struct {\n\tKind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`\n}\n'


def source(tmp_path: Path) -> Source:
    for path, text in (("k8s.io/api/demo/v1", TYPES), ("k8s.io/apimachinery/pkg/apis/meta/v1", META)):
        folder = tmp_path / path
        folder.mkdir(parents=True)
        (folder / "types.go").write_text(text)
        (folder / "types_test.go").write_text("type Wrong struct {\n}\n")
    return Source([tmp_path])


def test_a_struct_with_all_it_says(tmp_path: Path) -> None:
    found = source(tmp_path)
    thing = found.declared("k8s.io/api/demo/v1.Thing")
    assert shape(found, thing) == {
        "f": [
            {"n": "", "t": "k8s.io/apimachinery/pkg/apis/meta/v1.TypeMeta", "i": 1, "r": 1},
            {
                "n": "parts", "t": "[]k8s.io/api/demo/v1.Part", "o": 1, "p": 2, "l": "map", "k": ["name"], "s": "merge",
                "mk": "name",
            },
            {"n": "", "t": "k8s.io/api/demo/v1.PartSource", "i": 1, "r": 1, "p": 3},
            {"n": "shade", "t": "string", "o": 1, "p": 4, "d": "red", "e": ["blue", "red"]},
        ]
    }  # fmt: skip
    assert shape(found, found.declared("k8s.io/api/demo/v1.Part"))["a"] == 1
    assert expand(found, "map[Color]*Part", thing) == "map[string]*k8s.io/api/demo/v1.Part"


def test_comments_become_documentation_and_markers(tmp_path: Path) -> None:
    source(tmp_path)
    thing = package(tmp_path, "k8s.io/api/demo/v1").types["Thing"]
    assert description(thing.comment) == "Thing is a thing."
    assert markers(("text", "+optional", "+listMapKey=a", "+listMapKey=b")) == {
        "optional": [""],
        "listMapKey": ["a", "b"],
    }
    assert (
        description(("One", "two.", "", "Three:", "  - four", "---", "hidden"))
        == "One two.\n\nThree:\n  - four"
    )


def test_what_the_roots_lead_to_is_packaged_with_its_documentation(tmp_path: Path) -> None:
    shapes, docs = build(source(tmp_path), {"k8s.io/api/demo/v1": "Thing"}, ["k8s.io/api/demo/v1.Part"])
    names = [
        "api.demo.v1.Part",
        "api.demo.v1.PartSource",
        "api.demo.v1.Thing",
        "apimachinery.pkg.apis.meta.v1.TypeMeta",
    ]
    assert list(shapes) == [f"io.k8s.{name}" for name in names]
    assert shapes["io.k8s.api.demo.v1.Thing"]["f"][1]["t"] == "[]io.k8s.api.demo.v1.Part"
    assert docs["io.k8s.api.demo.v1.Thing"] == {"": "Thing is a thing.", "parts": "Parts of it."}
    assert docs["io.k8s.api.demo.v1.Part"] == {"": "Part is a part."}


def test_the_same_data_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert write(first, {"x": 1}) == write(second, {"x": 1})
    assert first.read_bytes() == second.read_bytes()


def test_a_missing_package_and_no_argument_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"no package k8s\.io/api/nope"):
        Source([tmp_path]).package("k8s.io/api/nope")
    assert main([]) == 2
    assert "GOCODE" in capsys.readouterr().err


def test_names_are_turned_round() -> None:
    assert friendly("k8s.io/api/core/v1.Pod") == "io.k8s.api.core.v1.Pod"
