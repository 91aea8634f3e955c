"""Which pages the API reference has, and what stands on each: the public names, each one once.

Names come from `__all__`, from the public table and from the promised contract, so that a new name
is on a page without being named here. A family of functions or a module that no page has is an
error.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from contract_signatures import PROMISED

import vkml
from vkml import attribution, data, nn, optim, serialize
from vkml_core.public import PUBLIC

API: Final = "api"
CONTRACT: Final = "contract"
"""The folders of what programs use and of what backends use."""
FAMILIES: Final = {
    "creation": "Making tensors",
    "random": "Random numbers",
    "elementwise": "Element by element",
    "reduce": "Reductions",
    "shape": "Shapes",
    "joining": "Joining and cutting",
    "indexing": "Indices and sorting",
    "linalg": "Matrix products",
    "conv": "Convolution and pooling",
    "normal": "Normalisation",
    "losses": "Losses",
    "execution": "When and where",
}
"""The families of the public table, in the order of the pages, and what their pages are called."""
ALIASES: Final = {"NotImplementedError_": "UnsupportedOpError"}
"""Second names, which have no entry of their own."""
METHODS: Final = """\
The functions below are also methods, with the tensor as their first argument: `x.exp()` is
`vkml.exp(x)`."""
PROMISE: Final = """\
A versioned promise: [authoring a backend](../authoring-a-backend.md) says what is promised and how
it may change. Each version is also there as a list of signatures, which a test compares with the
code."""
SIGNATURES: Final = Path(__file__).parents[1] / "docs" / CONTRACT
AXES: Final = "Where a function takes `dim` it takes `axis` as well, and the other way round."


class Page(NamedTuple):
    """One page: its place, its title, what it says first, and the objects shown."""

    path: str
    title: str
    text: str
    names: tuple[str, ...]

    def markdown(self) -> str:
        """Give the source that mkdocstrings fills."""
        shown = [f"::: {name}\n" for name in self.names]
        return "\n".join([f"# {self.title}\n", f"{self.text}\n", *shown])


def pages() -> list[Page]:
    """Give all pages of the reference in the order of the navigation."""
    program = [_tensor(), *map(_family, FAMILIES), *_parts(), *_packages()]
    backend = [*_contract()]
    files = sorted(SIGNATURES.glob("*.txt"))
    signatures = (f"* [signatures of version {p.stem}]({p.name})" for p in files)
    return [
        _index(API, "API reference", "Everything public, from the docstrings.", program),
        *program,
        _index(CONTRACT, "What a backend may import", PROMISE, backend, *signatures),
        *backend,
    ]


def _index(folder: str, title: str, text: str, found: Iterable[Page], *more: str) -> Page:
    rows = [f"* [{p.title}]({p.path.removeprefix(f'{folder}/')}): {_names(p)}" for p in found]
    return Page(f"{folder}/index.md", title, "\n".join([text, "", *rows, *more]), ())


def _names(page: Page) -> str:
    return " ".join(f"[`{_last(name)}`][{name}]" for name in page.names)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _page(path: str, title: str, about: Any, names: Iterable[str], more: str = "") -> Page:
    text = "\n\n".join(filter(None, (about and inspect.getdoc(about), more)))
    return Page(f"{path}.md", title, text, tuple(names))


def _tensor() -> Page:
    methods = (f"[`{e.name}`][vkml.{e.name}]" for e in PUBLIC.values() if _is_method(e.name))
    text = "The class, its properties, and what it has from the functions.\n\n"
    text += METHODS + "\n\n" + " ".join(methods)
    return Page(f"{API}/tensor.md", "Tensor", text, ("vkml.Tensor",))


def _is_method(name: str) -> bool:
    return PUBLIC[name].method and name != "getitem"


def _family(family: str) -> Page:
    names = [e.name for e in PUBLIC.values() if e.family == family and e.name != "getitem"]
    module = import_module(f"vkml_core.functional.{family}")
    dims = any({"dim", "axis"} & {*inspect.signature(getattr(vkml, n)).parameters} for n in names)
    shown = (f"vkml.{n}" for n in names)
    return _page(f"{API}/{family}", FAMILIES[family], module, shown, AXES if dims else "")


def _parts() -> Iterator[Page]:
    """Give the pages of what else `vkml` has, by what it is."""
    known = {*PUBLIC, *ALIASES, *serialize.__all__, "Tensor"}
    others = [n for n in vars(vkml)["__all__"] if n not in known]
    kinds: dict[str, list[str]] = {"dtypes": [], "errors": [], "running": []}
    for name in others:
        kinds[_kind(getattr(vkml, name))].append(f"vkml.{name}")
    errors = import_module("vkml_core.errors")
    also = [f"`vkml.{a}` is another name of `vkml.{b}`." for a, b in ALIASES.items()]
    yield _page(f"{API}/dtypes", "Dtypes", import_module("vkml_core.dtypes"), kinds["dtypes"])
    yield _page(f"{API}/running", "Devices, modes, decisions", None, kinds["running"])
    yield _page(f"{API}/errors", "Errors", errors, kinds["errors"], " ".join(also))


def _kind(value: Any) -> str:
    if isinstance(value, type) and issubclass(value, Exception):
        return "errors"
    return "dtypes" if value is vkml.DType or isinstance(value, vkml.DType) else "running"


def _packages() -> Iterator[Page]:
    """Give the pages of the packages, by their `__all__`."""
    for name, title, module in (
        ("nn", "vkml.nn", nn),
        ("nn-functional", "vkml.nn.functional", nn.functional),
        ("nn-init", "vkml.nn.init", nn.init),
        ("optim", "vkml.optim", optim),
        ("data", "vkml.data", data),
        ("serialize", "Checkpoints", serialize),
        ("attribution", "vkml.attribution", attribution),
    ):
        prefix = "vkml" if module is serialize else f"vkml.{name.replace('-', '.')}"
        public = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n))]
        yield _page(f"{API}/{name}", title, module, (f"{prefix}.{n}" for n in public))


def _contract() -> Iterator[Page]:
    """Give the pages of what a plug-in may import."""
    for module, names in PROMISED.items():
        about = import_module(module)
        short = module.removeprefix("vkml_core.").replace(".", "-").replace("_", "-")
        named = (f"{module}.{n}" for n in names.split())
        yield _page(f"{CONTRACT}/{short}", module, about, named)
