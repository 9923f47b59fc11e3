"""Steps that apply manifests: of the lab's own files, rendered ones, built ones, downloaded ones."""

from __future__ import annotations

from forge.errors import OperationFailed
from forge.kinds.step.work import Done, Work
from forge.plan.kind import Site
from forge.plan.lab_ports import Files, ObjectRef
from forge.plan.ports import Cancel
from forge.spec.steps import DeleteStep, KustomizeStep, ManifestStep, TemplateManifestStep, UrlStep
from forge.stack.content import rendered
from forge.stack.folders import manifests
from forge.stack.manifests import Document, read


def manifest(work: Work, step: ManifestStep) -> Done:
    return work.apply(_documents(work, step.path))


def _documents(work: Work, path: str) -> tuple[Document, ...]:
    return read((name, work.files.read(name)) for name in manifests(path, work.files))


def template_manifest(work: Work, step: TemplateManifestStep) -> Done:
    text = rendered(step.path, work.leaf.scope, work.files)
    return work.apply(read([(step.path, text.encode())]))


def kustomize(work: Work, step: KustomizeStep) -> Done:
    """Built by `kubectl kustomize`, applied by Forge."""
    data = built(step, work.site, work.files, work.until, work.name)
    return work.apply(read([(f"{step.path} (built)", data)]))


def url(work: Work, step: UrlStep) -> Done:
    work.site.progress(f"downloading {step.url}")
    return work.apply(read([(step.url, built(step, work.site, work.files, work.until, work.name))]))


def built(step: UrlStep | KustomizeStep, site: Site, files: Files, cancel: Cancel, name: str) -> bytes:
    """The manifest of a step that does not have it as a file. name: of the step, for errors."""
    if isinstance(step, UrlStep):
        return site.tools.download(step.url, step.sha256, cancel=cancel)
    argv = ("kubectl", "kustomize", str(files.path(step.path)))
    ran = site.tools.run(argv, progress=lambda _: None, cancel=cancel)
    if ran.exit_code:
        raise failed(name, "kubectl kustomize", ran.exit_code, ran.lines)
    return ran.output


def delete(work: Work, step: DeleteStep) -> Done:
    """What is gone already is a success; so is a kind that is."""
    if step.path is not None:
        refs = tuple(_ref(d, step.namespace) for d in _documents(work, step.path))
    else:
        found = work.kube.find(step.resource or "", step.namespace)
        refs = tuple(_found(one) for one in found)
    gone = work.kube.delete(refs, cancel=work.until)
    work.site.progress(f"deleted {len(gone)} of {len(refs)} objects" if refs else "it was gone already")
    return Done()


def _ref(document: Document, namespace: str | None) -> ObjectRef:
    thing = document.object
    meta = thing["metadata"]
    where = str(meta.get("namespace") or namespace or "")
    return ObjectRef(str(thing["apiVersion"]), str(thing["kind"]), where, str(meta["name"]))


def _found(thing: dict[str, object]) -> ObjectRef:
    meta = thing["metadata"]
    assert isinstance(meta, dict)  # noqa: S101 - the API gives no object without it
    return ObjectRef(
        str(thing["apiVersion"]),
        str(thing["kind"]),
        str(meta.get("namespace", "")),
        str(meta["name"]),
        str(meta["uid"]),
    )


def failed(name: str, command: str, code: int, lines: tuple[str, ...]) -> OperationFailed:
    """A command that the step *name* ran did not do what it was to do."""
    return OperationFailed(
        "FG0740",
        f"{name}: {command} failed",
        why=f"it ended with exit code {code}",
        hint="what it said last stands above; nothing of it is undone",
        changed=None,
        detail=lines[-20:],
    )
