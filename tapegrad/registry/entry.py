"""The public function of an op, compiled when it is first called, from the text that `source` makes for it."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.cuts import noted
from tapegrad.core.foreign import STANDING
from tapegrad.core.node import Node, tick
from tapegrad.core.recorder import NOTING, state
from tapegrad.core.tensor import Tensor, linked, standing_for
from tapegrad.errors import DeclarationError
from tapegrad.registry.around import surrounded
from tapegrad.registry.op import Op, Spec, spec_of
from tapegrad.registry.signature import Param
from tapegrad.registry.space import ARRAYS, BUILTIN, NUMPY, SCALARS, SPACES, F, keeping, space_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.registry.styles import Style


#: The statement that gives an op its derivative.
_STATEMENTS = {"elementwise": "partials", "linear": "adjoint", "multilinear": "adjoint", "primitive": "pullback"}


def _uncompiled(*args: Any, **params: Any) -> Any:
    return _first_call(_op, _made, _style)(*args, **params)  # type: ignore[name-defined]  # noqa: F821  each has its own


def stub(op: Op, style: Style | None = None) -> Callable[..., Any]:
    """A function that compiles itself when it is first called: a namespace of its own, and no code yet."""
    module = op.body.__module__
    env: dict[str, Any] = {"_op": op, "_style": style, "_first_call": _first_call, "__name__": module}
    env["__builtins__"] = __builtins__
    function = env["_made"] = FunctionType(_uncompiled.__code__, env, op.name)
    function.__qualname__ = op.name
    function.__doc__ = op.body.__doc__
    function.__module__ = module
    function.__dict__["op"] = op
    function.__dict__["__wrapped__"] = _Signed(op)
    return function


@final
class _Signed:
    """Where `inspect` finds the signature of an op's function, made when it is asked for, and its source: the body."""

    __slots__ = ("_op",)

    def __init__(self, op: Op) -> None:
        self._op = op

    @property
    def __signature__(self) -> Any:
        import inspect

        from tapegrad.registry.source import parameters

        scope: dict[str, Any] = {f"D_{p.name}": p.default for p in self._op.params}
        exec(f"def signed({parameters(self._op)}): ...", scope)
        return inspect.signature(scope["signed"])

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._op.body


def _first_call(op: Op, function: FunctionType, style: Style | None) -> Callable[..., Any]:
    if op.kind in _STATEMENTS and not op.rules:
        raise DeclarationError(
            f"{op.name}: called before its derivative was given; write {op.name}.{_STATEMENTS[op.kind]}(...), or declare it "
            "as a constant, which has none"
        )
    from tapegrad.registry.source import entry_source  # with the rules: not before an op is called

    source = entry_source(op, styled=style is not None, holds=style is not None and style.holds)
    env = function.__globals__
    env.update(_environment(op, style))
    scope: dict[str, Any] = {}
    exec(compile(source, _filename(op, source, style), "exec"), env, scope)
    made = scope[op.name]
    function.__defaults__ = made.__defaults__
    function.__kwdefaults__ = made.__kwdefaults__
    function.__code__ = made.__code__
    return function


_RECALLED: dict[Op, Callable[..., Any]] = {}


def recalled(op: Op) -> Callable[..., Any]:
    """The op with its value known, which is given before the arguments: a Tensor of that, recorded as by the op itself."""
    made = _RECALLED.get(op)
    if made is None:
        from tapegrad.registry.source import recalled_source

        env = _environment(op, None)
        exec(compile(recalled_source(op), f"<tapegrad op {op.name}, recalled>", "exec"), env)
        made = _RECALLED[op] = env[op.name]
    return made


def _filename(op: Op, source: str, style: Style | None) -> str:
    """A name under which tracebacks find the generated lines."""
    import linecache

    name = f"<tapegrad op {op.name}>" if style is None else f"<tapegrad op {op.name} of {style.cls.__module__}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return name


def _environment(op: Op, style: Style | None) -> dict[str, Any]:
    from tapegrad.registry import batching, call, misfit, rules

    env: dict[str, Any] = {
        "OP": op,
        "F": F,
        "BODY": surrounded(op.body) if op.kind == "composite" else op.body,
        "KERNEL": getattr(NUMPY, op.key) if op.kind != "composite" else None,
        "KEEPING": keeping(NUMPY, op) if op.kept else None,
        "keeping": keeping,
        "Tensor": Tensor,
        "ALIKE": frozenset(),
        "Node": Node,
        "ndarray": np.ndarray,
        "f32": np.float32,
        "f64": np.float64,
        "F32": np.dtype(np.float32),
        "F64": np.dtype(np.float64),
        "c128": np.complex128,
        "ARRAYS": ARRAYS,
        "BUILTIN": BUILTIN,
        "generic": np.generic,
        "SCALARS": SCALARS,
        "SPACES": SPACES,
        "state": state,
        "NOTING": NOTING,
        "noted": noted,
        "tick": tick,
        "space_of": space_of,
        "unpack": call.unpack,
        "unpack_all": call.unpack_all,
        "dispatch": call.dispatch,
        "promote": call.promote,
        "owned": call.owned,
        "failed": call.failed,
        "misfit": misfit.misfit,
        "over_batch": batching.over_batch,
        "is_half": call.is_half,
        "linked": linked,
        "outputs": call.outputs,
        "STANDING": STANDING,
        "standing_for": standing_for,
        "unstyled": call.unstyled,
        "all_unstyled": call.all_unstyled,
        "Spec": Spec,
        "spec_of": spec_of,
        "shape_of": rules.shape_of,
        "dtype_of": rules.dtype_of,
    }
    if op.kind not in ("composite", "constant"):
        env.update({f"V{i}": v for i, v in enumerate(rules.variants(op))})
    for p in op.params:
        if p.default is not Param.REQUIRED:
            env[f"D_{p.name}"] = p.default
    if style is not None:
        env.update(
            F=style,
            Tensor=style.cls,
            ALIKE=style.alike,
            new=style.new,
            meet=style.meet,
            promote=style.meet,
            unpack=style.unpack,
            failed=style.failed,
            adopt=style.adopt,
            outputs=style.outputs,
        )
    return env
