"""Recorded: one plan of a step, and how to run it again with other tensors and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final
from weakref import ref

from vkml_core import runtime
from vkml_core.compile.bindings import Bindings, Effects, Result, meaning
from vkml_core.compile.copies import separate
from vkml_core.compile.signature import Packer
from vkml_core.errors import CompileError
from vkml_core.graph import Storage, data
from vkml_core.holders import ALONE, counts
from vkml_core.live import Feed
from vkml_core.plugins import open_device
from vkml_core.runtime import Entry
from vkml_core.spans import Phase, span
from vkml_core.tensor import Tensor

_NODE: Final = attrgetter("node")
_SERIAL: Final = attrgetter("node.serial")
_STORAGE: Final = attrgetter("node.storage")


class Recorded:
    """A step, traced once. Its caller holds the runtime's lock."""

    def __init__(
        self,
        entry: Entry,
        bindings: Bindings,
        results: list[Result],
        pack: Packer,
        effects: Effects,
    ) -> None:
        self.used = 0
        """When it was last run, in calls of its function."""
        self._entry = entry
        self._bindings = bindings
        self._results = results
        self._pack = pack
        self._effects = effects
        self._tensors = [o.tensor for o in bindings.outside]
        self._overwritten = self._tensors[: bindings.overwritten]
        self._changes = set(map(id, self._overwritten))
        self._alone = [ALONE] * bindings.overwritten
        self._serials: list[int] = []
        self._feeds = [feed for feed, _ in bindings.feeds]
        self._places = [place for _, place in (*bindings.given, *bindings.gradients)]

    @property
    def is_current(self) -> bool:
        """Whether the device is still the one that it was made for."""
        return open_device(self._entry.name) is self._entry.device

    def holds(self) -> bool:
        """Whether everything is as it was traced for; takes new values of tensors from outside.

        Raises DeviceError for a tensor from before its device was opened anew.
        """
        if list(map(_SERIAL, self._tensors)) != self._serials and not self._take_values():
            return False
        for tensor, had in self._bindings.looked:
            if (tensor._grad is not None) != had:
                return False
        return all(feed.holds() for feed in self._feeds)

    def _take_values(self) -> bool:
        runtime.realize([t.node for t in self._tensors])
        nodes = [t.node for t in self._tensors]
        outside = self._bindings.outside
        if any(meaning(n) != o.meaning for n, o in zip(nodes, outside, strict=True)):
            self._forget()
            return False
        for node, o in zip(nodes, outside, strict=True):
            if o.place is not None:
                self._bindings.inputs[o.place] = runtime.buffer_of(node, self._entry.device)
        self._serials = [n.serial for n in nodes]
        return True

    def _forget(self) -> None:
        """Hold no buffer of tensors that have become others."""
        self._serials = []
        for o in self._bindings.outside:
            if o.place is not None:
                self._bindings.inputs[o.place] = None

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """Run once, after `holds`. If that fails nothing has changed."""
        inputs, effects = self._bindings.inputs, self._effects
        self._bind(arguments)
        if (
            counts(_NODE, self._overwritten) != self._alone
            or counts(_STORAGE, self._overwritten) != self._alone
        ):
            self._separate()
        buffers = self._submit()
        made: dict[int, Storage] = {}
        results = [self._tensor(r, buffers, arguments, made) for r in self._results]
        if effects.gradients or effects.arguments:
            self._give(buffers, arguments, made)
        for i, needed in effects.required:
            arguments[i].requires_grad_(needed)
        for tensor in effects.cleared:
            tensor._grad = None
        for place in self._places:
            inputs[place] = None  # else a batch would live until the next one
        return self._pack(results)

    def _bind(self, arguments: Sequence[Tensor]) -> None:
        inputs, opened = self._bindings.inputs, self._entry.device
        self._check_distinct(arguments)
        late = [t.node for t in arguments if t.node.storage is None]
        if self._bindings.gradients:
            late += [g.node for t, _ in self._bindings.gradients if (g := t._grad) is not None]
        if late:
            runtime.realize(late)
        for i, place in self._bindings.given:
            node = arguments[i].node
            storage = node.storage
            if storage is None or storage.device is not opened:
                runtime.buffer_of(node, opened)
            inputs[place] = storage.buffer  # type: ignore[union-attr]
        for tensor, place in self._bindings.gradients:
            inputs[place] = runtime.buffer_of(tensor._grad.node, opened)  # type: ignore[union-attr]

    def _check_distinct(self, arguments: Sequence[Tensor]) -> None:
        """Refuse an argument that the step also has from elsewhere, and changes."""
        changed = {id(arguments[i]) for i, _ in self._effects.arguments}
        twice = changed and len(changed & set(map(id, arguments))) != sum(
            id(t) in changed for t in arguments
        )
        if twice or not self._changes.isdisjoint(map(id, arguments)):
            raise CompileError(
                "compile: an argument is a tensor that the step changes, and has from elsewhere: "
                "pass x.detach(), or let the step take it from outside only"
            )

    def _separate(self) -> None:
        """Give what is overwritten, and what others hold too, a copy of its own."""
        shared = [
            t
            for t, *held in zip(
                self._overwritten,
                counts(_NODE, self._overwritten),
                counts(_STORAGE, self._overwritten),
                strict=True,
            )
            if held != [ALONE, ALONE]
        ]
        separate(shared, self._entry.name, self._entry.device)
        self._take_values()

    def _submit(self) -> Sequence[Any]:
        scalars = self._bindings.scalars
        taken: list[Feed] = []
        try:
            for feed, numbers in self._bindings.feeds:
                taken.append(feed)
                if feed.take():
                    for number in numbers:
                        scalars[number.place] = number.evaluate()
            with span(Phase.SUBMIT):
                buffers = self._entry.executable.run(self._bindings.inputs, scalars)
        except BaseException:
            for feed in reversed(taken):
                feed.give_back()
            raise
        for feed in taken:
            feed.keep()
        return buffers

    def _tensor(
        self,
        result: Result,
        buffers: Sequence[Any],
        arguments: Sequence[Tensor],
        made: dict[int, Storage],
    ) -> Tensor:
        """Make a result's tensor; who has the same buffer shares its storage."""
        held = result.held
        if isinstance(held, int):
            held = arguments[held]
        storage = held.node.storage if isinstance(held, Tensor) else held
        if storage is None:
            buffer = buffers[result.place]
            storage = made.get(id(buffer))
            if storage is None:
                storage = made[id(buffer)] = Storage(buffer, self._entry.device)
        return Tensor(data(storage, result.shape, result.dtype, self._entry.name))

    def _give(
        self, buffers: Sequence[Any], arguments: Sequence[Tensor], made: dict[int, Storage]
    ) -> None:
        """Give tensors their new gradients, and arguments their new values."""
        gradients = [
            (target, self._tensor(result, buffers, arguments, made))
            for target, result in self._effects.gradients
        ]
        values = [
            (arguments[i], self._tensor(result, buffers, arguments, made).node)
            for i, result in self._effects.arguments
        ]
        for target, gradient in gradients:
            tensor = target if isinstance(target, Tensor) else arguments[target]
            tensor._grad = gradient
        for tensor, node in values:
            if tensor.node.requires_grad:
                node.requires_grad, node.owner = True, ref(tensor)
            tensor.node = node
