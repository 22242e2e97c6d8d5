"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad.torch._tensor import STYLE


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False
) -> Any:
    """The value of a module with these tensors in the place of its parameters and buffers, by name."""
    given: dict[str, Any] = {}
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        for d in parameter_and_buffer_dicts:
            twice = given.keys() & d.keys()
            if twice:
                raise ValueError(f"{sorted(twice)[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
            given = {**given, **d}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(parameter_and_buffer_dicts)}"
        )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    if strict:
        have = {n for n, _ in module.named_parameters()} | {n for n, _ in module.named_buffers()}
        if have - given.keys():
            raise RuntimeError(f"Missing key(s): {', '.join(sorted(map(repr, have - given.keys())))}.")
        if given.keys() - have:
            raise RuntimeError(f"Unexpected key(s): {', '.join(sorted(map(repr, given.keys() - have)))}.")
    with _replaced(module, _tied(module, given) if tie_weights else given):
        return module(*args, **(kwargs or {}))


def _tied(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The same with tensors that are known under several names replaced under all of them."""
    by_id: dict[int, list[str]] = {}
    for listed in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, t in listed:
            by_id.setdefault(id(t), []).append(name)
    made = dict(given)
    for names in by_id.values():
        known = [n for n in names if n in given]
        if len(names) > 1 and known:
            if len({id(given[n]) for n in known}) > 1:
                raise ValueError(f"functional_call got multiple values for keys {sorted(known)}, which are tied. Consider using "
                                 "tie_weights=False")  # fmt: skip
            made.update(dict.fromkeys(names, given[known[0]]))
    return made


@contextmanager
def _replaced(module: Any, given: dict[str, Any]) -> Iterator[None]:
    """Inside, the module's own tables hold these tensors."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, value in given.items():
            owner = module
            *parents, name = path.split(".")
            for p in parents:
                owner = getattr(owner, p)
            table = owner._parameters if name in owner._parameters else owner._buffers
            if name not in table:
                raise AttributeError(f"{type(module).__name__} has no parameter or buffer {path!r}")
            before.append((table, name, table[name]))
            table[name] = value
        yield
    finally:
        for table, name, value in reversed(before):
            table[name] = value


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of several modules, those of one name stacked: for `vmap` over an ensemble."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(listed: list[dict[str, Any]]) -> dict[str, Any]:
        made = {}
        for name in listed[0]:
            parts = [d[name] for d in listed]
            if len({p.requires_grad for p in parts}) > 1:
                raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
            y = STYLE.stack([p.detach() for p in parts])
            made[name] = y.requires_grad_() if parts[0].requires_grad else y
        return made

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let no batch normalisation of a module keep running statistics, which `vmap` cannot write: each batch has its own."""
    from tapegrad.torch.nn.modules.norm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
