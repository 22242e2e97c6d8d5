"""JAX, in double precision, not compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import System, outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Call = Callable[[list[Any]], Any]


#: What an error says where a vjp is not there to be differentiated.
_ONCE = ("callbacks do not support JVP", "can't apply forward-mode differentiation", "Differentiation rule for")


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of JAX arrays; single if it has rules of its own."""
    single = type(f).__name__ in ("custom_vjp", "custom_jvp")
    rules = [getattr(f, rule, None) for rule in ("fwd", "bwd", "jvp")] if single else []
    return Jax(name, call, active, [f.__wrapped__ if single else f, *filter(None, rules)], single=single)


@final
class Jax(System):
    """A function of JAX arrays: pure, so that nothing can be overwritten, and of one memory layout."""

    framework = "jax"
    shows = frozenset(["saved", "integers"])
    compiles = True
    halves = ("float16", "bfloat16")
    selects = True
    batches = True

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single
        self.has_jvp = not single
        self.twice: bool | None = None

    def _of_active(self, xs: Arrays) -> Callable[..., Any]:
        """The function of the active leaves alone, with a flat tuple of floating outputs."""
        import jax.numpy as jnp

        full = [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in xs]

        def f(*moved: Any) -> Any:
            leaves = list(full)
            for i, x in zip(self.active, moved, strict=True):
                leaves[i] = x
            ys = outputs(self.call(leaves), self.name)
            return tuple(y for y in map(jnp.asarray, ys) if jnp.issubdtype(y.dtype, jnp.inexact))

        return f

    def value(self, xs: Arrays) -> list[Any]:
        import jax

        with jax.enable_x64(True):
            return [np.array(y) for y in self._of_active(xs)(*self._given(xs))]

    def _given(self, xs: Arrays) -> list[Any]:
        import jax.numpy as jnp

        return [jnp.asarray(xs[i]) for i in self.active]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        import jax

        with jax.enable_x64(True):
            ys, back = jax.vjp(self._of_active(xs), *self._given(xs))

        def pull(gs: Arrays) -> list[Any]:
            with jax.enable_x64(True):
                # JAX's cotangents are conjugates of those of the other frameworks: its product is not Hermitian.
                found = back(tuple(jax.numpy.asarray(np.conj(g)) for g in gs))
                return [np.conj(np.array(c)) for c in found]

        return [np.array(y) for y in ys], pull

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        import jax

        with jax.enable_x64(True):
            _, tangents = jax.jvp(self._of_active(xs), tuple(self._given(xs)), tuple(map(jax.numpy.asarray, ts)))
            return [np.array(t) for t in tangents]

    def batched(self, xs: Arrays, moved: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        import jax

        def one(active: Any, cotangents: Any) -> Any:
            ys, back = jax.vjp(self._of_active(xs), *active)
            return ys, back(cotangents)

        with jax.enable_x64(True):
            given = tuple(map(jax.numpy.asarray, moved)), tuple(jax.numpy.asarray(np.conj(g)) for g in gs)
            ys, found = jax.vmap(one)(*given)
            return [np.array(y) for y in ys], [np.conj(np.array(c)) for c in found]

    def compiled(self) -> System:
        import jax

        def call(leaves: list[Any]) -> Any:
            arrays = [i for i, x in enumerate(leaves) if hasattr(x, "shape")]

            def f(*given: Any) -> Any:
                full = list(leaves)
                for i, x in zip(arrays, given, strict=True):
                    full[i] = x
                return self.call(full)

            return jax.jit(f)(*(leaves[i] for i in arrays))

        return Jax(self.name, call, self.active, (), single=self.single)

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        import jax
        import jax.numpy as jnp

        n = len(xs)

        def pullback(leaves: list[Any]) -> Any:
            _, back = jax.vjp(self._of_active(leaves[:n]), *(leaves[i] for i in self.active))
            return tuple(map(jnp.conj, back(tuple(map(jnp.conj, leaves[n:])))))  # as `run` has them

        made = Jax(f"the vjp of {self.name}", pullback, [*self.active, *range(n, n + len(gs))], ())
        if self.twice is None:
            try:
                made.run([*xs, *gs])
                self.twice = True
            except (ValueError, TypeError, NotImplementedError) as error:
                if not any(told in str(error) for told in _ONCE):
                    raise
                self.twice = False
        return made if self.twice else None
