"""A model's shell: stand-ins without numbers in the place of its parameters and buffers, and everything put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]  # not in its stubs

from trackio_like.module_state.attributes import Attributes
from trackio_like.module_state.hooks import foreign_hooks_off
from trackio_like.module_state.random_state import random_states_kept

StandIn = Callable[[torch.Tensor], torch.Tensor]
_TABLES: Final = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
_LAZY_TABLES: Final = (
    "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
)  # fmt: skip


@contextmanager
def shell_of(model: nn.Module, stand_in: StandIn) -> Iterator[Sequence[torch.Tensor]]:
    """Lends a model's shell: in eval mode, no hooks that watch, stand-ins for all parameters and buffers.

    Its own parameters and buffers are out of reach meanwhile, so that nothing can happen to them. Afterwards the model,
    its attributes, caches and lists, and all random generators are what they were.

    Args:
        model: the model.
        stand_in: gives a tensor without numbers for a parameter or buffer; called once for each.

    Yields:
        All stand-ins.
    """
    attributes = Attributes(model)
    parts = list(model.modules())
    tables = [(part, _copies(part, _TABLES)) for part in parts]
    classes = [(part, type(part), _copies(part, _LAZY_TABLES)) for part in parts if _is_lazy(part)]
    try:
        with ExitStack() as stack:
            stack.enter_context(random_states_kept())
            stack.enter_context(foreign_hooks_off(model))
            stack.enter_context(torch.no_grad())
            known: dict[int, torch.Tensor] = {}
            for part in parts:
                part.__dict__["training"] = False
                part.__dict__.pop("_compiled_call_impl", None)  # `compile()`: its own forward is what we want to see
                for name in ("_parameters", "_buffers"):
                    table = part.__dict__.get(name)
                    if not isinstance(table, dict):
                        continue  # a scripted module's are in its C++ half: they are met as they are used
                    for key, tensor in table.items():
                        if tensor is not None:
                            found = known.get(id(tensor))
                            table[key] = known[id(tensor)] = stand_in(tensor) if found is None else found
            yield list(known.values())
    finally:

        def restore() -> None:
            for part, its_class, lazy_tables in classes:
                part.__class__ = its_class
                _put_back(part, lazy_tables)
            for part, before in tables:
                _put_back(part, before)
            attributes.put_back()

        _surely(restore)


def _surely(action: Callable[[], None]) -> None:
    """Does it all, also where Ctrl-C comes in the middle; that is raised afterwards."""
    try:
        action()
    except KeyboardInterrupt:
        _surely(action)
        raise


def _put_back(part: nn.Module, tables: dict[str, dict[Any, Any]]) -> None:
    for name, before in tables.items():
        table = part.__dict__.get(name)
        if isinstance(table, dict) and (
            list(table) != list(before) or any(table[key] is not before[key] for key in before)
        ):
            table.clear()
            table.update(before)


def _is_lazy(part: nn.Module) -> bool:
    return isinstance(part, nn.modules.lazy.LazyModuleMixin)


def _copies(part: nn.Module, names: tuple[str, ...]) -> dict[str, dict[Any, Any]]:
    return {name: dict(table) for name in names if isinstance(table := part.__dict__.get(name), dict)}


def meta_stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor on the meta device like this one, a parameter where this is one."""
    if isinstance(tensor, UninitializedTensorMixin):
        kind = nn.UninitializedParameter if isinstance(tensor, nn.Parameter) else nn.UninitializedBuffer
        return kind(device="meta", dtype=tensor.dtype)
    shell = _empty_like(tensor)
    return nn.Parameter(shell, requires_grad=tensor.requires_grad) if isinstance(tensor, nn.Parameter) else shell


def _empty_like(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout == torch.strided:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


__all__ = ["meta_stand_in", "shell_of"]
