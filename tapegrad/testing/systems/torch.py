"""PyTorch: functions, `autograd.Function`, and modules with their parameters."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import System, outputs
from tapegrad.testing.systems.modules import functional
from tapegrad.testing.words import dtype_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Call = Callable[[list[Any]], Any]

# What is not here: PyTorch casts a gradient of another dtype or shape to its argument's, or refuses it itself, and its
# tensors have no negative strides.
#: What an error says where a backward pass is not there to be differentiated.
_ONCE = (
    *("once_differentiable", "is not implemented", "does not require grad"),
    "Can't call numpy() on Tensor that requires grad",
)
_SHOWS = frozenset(["strides", "writes", "precisions", "saved", "integers"])


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of torch tensors; single if it is that of an `autograd.Function`."""
    import torch

    owner = getattr(f, "__self__", None)
    single = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    return Torch(name, call, active, [owner if single else f], single=single)


def opened(f: Any, examples: Sequence[Any], words: dict[str, Any]) -> tuple[Any, Sequence[Any], dict[str, Any]]:
    """A module as a function of its inputs and of its parameters, in double precision; anything else as it is."""
    import torch

    if not isinstance(f, torch.nn.Module):
        return f, examples, words
    return functional(f, torch.func.functional_call, examples, words)


@final
class Torch(System):
    """A function of torch tensors."""

    framework = "torch"
    advice = MappingProxyType(
        {
            "second": "save inputs and outputs alone, for what else is saved counts as constant; or decorate backward with "
            "torch.autograd.function.once_differentiable"
        }
    )
    shows = _SHOWS
    halves = ("float16", "bfloat16")
    selects = True
    batches = True

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single
        # A Function has a rule of its own for forward mode, or none; other functions are made of ops, most of which have one.
        self.has_jvp = not single or sources[0].jvp is not _function().jvp

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """On one thread: arrays are small, and threads that wait for each other made a layer norm's check 13 times as dear."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():  # of its own use of what it no longer recommends, in forward mode for one
                warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"torch\.")
                yield
        finally:
            torch.set_num_threads(before)

    def _tensors(self, xs: Arrays, *, watched: bool) -> list[Any]:
        made = [tensor_of(x) if isinstance(x, np.ndarray) else x for x in xs]
        if watched:
            for i in self.active:
                made[i].requires_grad_()
        return made

    def _outputs(self, tensors: list[Any]) -> list[Any]:
        ys = outputs(self.call(tensors), self.name)
        return [y for y in ys if y.is_floating_point() or y.is_complex()]

    def value(self, xs: Arrays) -> list[Any]:
        import torch

        with torch.no_grad():
            return [array_of(y) for y in self._outputs(self._tensors(xs, watched=False))]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        import torch

        tensors = self._tensors(xs, watched=True)
        sources = [tensors[i] for i in self.active]
        ys = self._outputs(tensors)
        attached = [k for k, y in enumerate(ys) if y.requires_grad]

        def pull(gs: Arrays) -> list[Any]:
            if not attached:
                return [None] * len(sources)
            given = [tensor_of(gs[k]) for k in attached]
            found = torch.autograd.grad([ys[k] for k in attached], sources, given, retain_graph=True, allow_unused=True)
            return [None if c is None else array_of(c) for c in found]

        return [array_of(y) for y in ys], pull

    def batched(self, xs: Arrays, moved: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        import torch

        tensors = self._tensors(xs, watched=False)

        def one(active: Any, cotangents: Any) -> Any:
            def f(*given: Any) -> Any:
                full = list(tensors)
                for i, x in zip(self.active, given, strict=True):
                    full[i] = x
                return tuple(self._outputs(full))

            made: Any = torch.func.vjp(f, *active)
            ys, back = made
            return ys, back(cotangents)

        stacked = [tuple(tensor_of(x) for x in part) for part in (moved, gs)]
        ys, found = torch.func.vmap(one)(*stacked)
        return [array_of(y) for y in ys], [array_of(c) for c in found]

    def compiled(self) -> System:
        """By `torch.compile`: its graphs and derivatives as they are, or generated code where `fully_compiled`.

        Measured: a graph takes 0.4 s; code for one input 33 s, and 9 s for each other shape.
        """
        import torch

        def call(*leaves: Any) -> Any:
            return self.call(list(leaves))

        # What is compiled is kept with the code that was compiled, and for eight functions at most: each has its own.
        own = FunctionType(call.__code__.replace(co_name=f"call_{id(self)}"), globals(), "call", None, call.__closure__)
        Distribution: Any = torch.distributions.Distribution
        checked = Distribution._validate_args
        made = torch.compile(own, backend="inductor" if self.fully_compiled and _has_compiler() else "aot_eager")
        Distribution.set_default_validate_args(checked)  # the first use of the compiler turns that off in the whole process
        return Torch(self.name, lambda leaves: made(*leaves), self.active, self.sources, single=self.single)

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]] | None:
        import torch

        tensors = self._tensors(xs, watched=True)
        sources = [tensors[i] for i in self.active]
        ys = self._outputs(tensors)
        if not all(y.requires_grad for y in ys):
            return None
        given = [tensor_of(g) for g in gs]
        for _ in range(2):
            torch.autograd.backward(ys, given, retain_graph=True)
        total = [None if x.grad is None else array_of(x.grad).copy() for x in sources]
        after = torch.autograd.grad(ys, sources, given, allow_unused=True)
        return total, [None if c is None else array_of(c) for c in after]

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        forward_ad: Any = import_module("torch.autograd.forward_ad")  # whose functions have no types
        tensors = self._tensors(xs, watched=False)
        with forward_ad.dual_level():
            for i, t in zip(self.active, self._tensors(ts, watched=False), strict=True):
                tensors[i] = forward_ad.make_dual(tensors[i], t)
            duals: Any = [forward_ad.unpack_dual(y) for y in self._outputs(tensors)]
            return [array_of(d.primal) * 0 if d.tangent is None else array_of(d.tangent) for d in duals]

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        import torch

        n = len(xs)

        def pullback(tensors: list[Any]) -> Any:
            sources = [x if x.requires_grad else x.detach().requires_grad_() for x in (tensors[i] for i in self.active)]
            full = list(tensors[:n])
            for i, x in zip(self.active, sources, strict=True):
                full[i] = x
            with torch.enable_grad():
                ys = self._outputs(full)
                found = torch.autograd.grad(ys, sources, list(tensors[n:]), create_graph=True, allow_unused=True)
            return tuple(torch.zeros_like(x) if c is None else c for x, c in zip(sources, found, strict=True))

        made = Torch(f"the vjp of {self.name}", pullback, [*self.active, *range(n, n + len(gs))], (), single=False)
        try:
            ys, pull = made.run([*xs, *gs])
            found = pull([np.ones_like(y) for y in ys])
        except RuntimeError as error:
            if any(told in str(error) for told in _ONCE):
                return None
            raise
        # A vjp is linear in its cotangent: of nothing at all depends what was not recorded (`once_differentiable`).
        return None if all(c is None for c in found) else made


def _has_compiler() -> bool:
    """Whether there is a compiler of C++, which code for processors needs."""
    from torch._inductor import cpp_builder, exc

    try:
        return bool(cpp_builder.get_cpp_compiler())
    except exc.InvalidCxxCompiler:
        return False


def _function() -> Any:
    import torch

    return torch.autograd.Function


def _positive(x: Any) -> Any:
    """The same memory, or a copy where there are strides that torch does not know."""
    return x if all(s > 0 for s in x.strides) or not x.size else x.copy()


def tensor_of(x: Any) -> Any:
    """A tensor of an array, in the same memory where torch knows its strides."""
    import torch

    x = _positive(x)
    if x.dtype.kind == "V":  # bfloat16, which NumPy does not have of its own
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def array_of(y: Any) -> Any:
    """The values of a tensor as an array."""
    import torch

    if y.dtype == torch.bfloat16:
        return y.detach().view(torch.int16).numpy(force=True).view(dtype_named("bfloat16"))
    return y.numpy(force=True)  # also of conjugates, and of the zeros without memory that some second derivatives are
