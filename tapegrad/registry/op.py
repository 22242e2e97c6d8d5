"""The declaration of an op, checked when it is made."""

from __future__ import annotations

from types import EllipsisType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, final

from tapegrad.errors import DeclarationError, NotDifferentiable
from tapegrad.registry.signature import Word, argument_names, check_laws, names_of, optional, signature

if TYPE_CHECKING:
    from collections.abc import Callable

    Rule = Callable[..., Any]

#: All ops by name.
OPS: dict[str, Op] = {}

#: Called with every op that is declared.
_FOLLOWERS: list[Callable[[Op], None]] = []


def follow(learn: Callable[[Op], None]) -> None:
    """Call this with every op, those declared so far and those to come."""
    _FOLLOWERS.append(learn)
    for op in OPS.values():
        learn(op)


_KINDS = ("elementwise", "linear", "multilinear", "primitive", "constant", "composite")


@final
class Spec:
    """Shape and dtype of an argument of which a rule needs no more."""

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype} {self.shape}"


def spec_of(raw: Any) -> Spec:
    """Shape and dtype of a raw array."""
    spec = Spec()
    spec.shape = raw.shape
    spec.dtype = raw.dtype
    return spec


#: The op does not depend on this argument in a differentiable way (an index, a condition).
no_derivative = Word("no_derivative")
#: A derivative exists, and nobody has written it yet: asking for it raises `NotDifferentiable`.
not_implemented = Word("not_implemented")


@final
class Op:
    """One op: what it computes, its derivative, where it is defined, how it is tested.

    `entry` is the public function.  It is compiled at the first call, for the op's own arity and rules.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        kind: str,
        *,
        domain: Any = None,
        kinks: tuple[float, ...] | Callable[..., Any] = (),
        real: bool = False,
        observe: Callable[..., Any] | None = None,
        singular: bool = False,
        symbol: str | None = None,
        repeated: str | None = None,
        variadic: bool = False,
        weak: bool = False,
        named: tuple[str, ...] = (),
        pointwise: bool = False,
        outputs: tuple[str, ...] | EllipsisType = (),
        accumulates: bool = False,
        masks: bool | str = False,
        cuts: bool = False,
        public: bool = True,
        laws: Callable[[Any], tuple[Any, ...]] | str | None = None,
        tolerance: float = 1.0,
        order: int = 2,
    ) -> None:
        if kind not in _KINDS:
            raise DeclarationError(f"kind is one of {_KINDS}, got {kind!r}")
        if not isinstance(body, FunctionType):
            raise DeclarationError(
                f"{kind}: an op is declared from a function, got {body!r}; a tensor is made by tapegrad.asarray"
            )
        self.body = body
        self.name = body.__name__
        self.kind = kind
        self.domain = domain
        self.kinks = kinks
        #: Takes no complex numbers.
        self.real = real
        #: What of several outputs is unique: ``(F, *outputs)``; the laws look at that.
        self.observe = observe
        self.singular = singular
        self.symbol = symbol
        #: The op of one argument that computes the same where both arguments are one tensor.
        self.repeated = repeated
        self.variadic = variadic
        #: The names of several outputs; an ellipsis where their number depends on parameters, and they have none.
        self.outputs = outputs
        self.accumulates = accumulates
        #: Its cotangents have zeros for what was not chosen, and its partials are finite; with the name of a parameter, where that
        #: is an array of booleans.
        self.masks = masks
        #: Its partial is 0 where an element has no part in the value: an infinity there stays out, forward and at higher orders.
        self.cuts = cuts
        self.public = public
        self.laws = laws
        self.tolerance = tolerance
        self.order = order
        #: Arrays that are given by keyword alone, in a composite.
        self.named = named
        self.arrays, self.params = signature(self)
        #: Arrays that may be left out, and are None then.
        self.optional = optional(self)
        #: Python scalars among its arrays take the dtype of the others.
        self.weak = weak or (kind in ("elementwise", "constant") and len(self.arrays) > 1)
        #: Acts on each element, so that batches align by rank.
        self.pointwise = pointwise or kind == "elementwise"
        self.rules: dict[str, Any] = {}
        self.pushes: dict[str, Any] = {}
        self.guards: dict[str, Any] = {}
        self.products: dict[str, Any] = {}
        self.summed_rules: dict[str, Any] = {}
        #: What it keeps besides its value, where it is recorded: under a name of its own, what that op gives of its arguments.
        self.kept: dict[str, Op] = {}
        self.batch_rule: Callable[..., Any] | None = None
        self.diagonal_rule: Callable[..., Any] | None = None
        self.variants: dict[Any, Any] = {}
        self.entry: Callable[..., Any] = _entry_stub(self)
        if not (body.__doc__ or "").strip():
            raise DeclarationError(f"{self.name}: an op needs a docstring that says what its value is")
        #: Under which it is found: its name, for an op of tapegrad; with its module before it for anybody else's.
        self.key = self.name if body.__module__.partition(".")[0] == "tapegrad" else f"{body.__module__}.{self.name}"
        if self.key in OPS and self.public and OPS[self.key].body.__module__ != body.__module__:
            raise DeclarationError(f"there is an op {self.name} already, in {OPS[self.key].body.__module__}")
        self.__doc__ = body.__doc__
        check_laws(self)
        OPS[self.key] = self
        for learn in _FOLLOWERS:
            learn(self)

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.entry(*args, **params)

    def __repr__(self) -> str:
        return f"<{self.kind} op {self.name}({', '.join([*self.arrays, *(p.name for p in self.params)])})>"

    # -- the second statement ------------------------------------------------------------------
    def partials(self, **rules: Any) -> Op:
        """The partial derivative for each argument, at the same element.

        A rule is a number, the name of an argument (the partial *is* that argument), or a function
        ``(F, names...)``.  The pullback is ``g * conj(partial)``, the pushforward ``t * partial``.
        """
        self._need("elementwise")
        for name, rule in rules.items():
            if isinstance(rule, str) and rule not in (*self.arrays, "y"):
                raise DeclarationError(f"{self.name}.partials({name}={rule!r}): there is no argument {rule!r}")
        return self._take("partials", rules, first=("F",))

    def fused(self, **rules: Any) -> Op:
        """The product of a cotangent and the partial as one op: a function ``(F, g, names...)``, for real numbers.

        It stands for ``g * partial`` in a reverse sweep, where nothing is broadcast; the partials are given before it, and all
        else goes by them.
        """
        if self.kind != "elementwise" or not self.rules or self.singular:
            raise DeclarationError(f"{self.name}: fused products are given to an elementwise op that is not singular, after partials")
        for name, rule in rules.items():
            self._check_rule("fused", name, rule, ("F", "g"))
        self.products.update(rules)
        return self

    def summed(self, **rules: Any) -> Op:
        """The cotangent of an argument that was repeated, where a part of the partial can wait for the sum: ``(F, g, names...)``.

        On raw arrays.  It stands for the sum of ``g * partial`` over what was repeated, and gives None where it would not be as
        exact, or where nothing was repeated.  It names what the partial names.
        """
        if self.kind != "elementwise" or not self.rules:
            raise DeclarationError(f"{self.name}: summed products are given to an elementwise op, after partials")
        for name, rule in rules.items():
            self._check_rule("summed", name, rule, ("F", "g"))
            if unnamed := set(names_of(rule, 2)) - set(names_of(self.rules[name], 1)):
                raise DeclarationError(f"{self.name}.summed({name}=...): its partial does not name {', '.join(sorted(unnamed))}")
        self.summed_rules.update(rules)
        return self

    def adjoint(self, **rules: Any) -> Op:
        """The adjoint map for each argument: a function ``(F, g, names...)``.

        Arguments in which the op is linear reach it as shape and dtype only (`Spec`).
        """
        self._need("linear", "multilinear")
        return self._take("adjoint", rules, first=("F", "g"))

    def pullback(self, **rules: Any) -> Op:
        """The cotangent for each argument: a function ``(F, g, names...)``."""
        self._need("primitive")
        return self._take("pullback", rules, first=("F", "g"))

    def keeping(self, **ops: Op) -> Op:
        """What comes with the value at next to no cost, and a rule may name: what another op gives of the same arrays.

        Its parameters are among this op's, by their names.

        Where the op is recorded it is computed by a kernel `<op>_keeping`, which gives the value and these in a tuple; else, or
        where a kernel set has none, by the op alone, and by the ops kept.  In a recorded sweep it stands for the other op's value.
        """
        if self.kind != "primitive" or self.outputs or self.variadic or self.rules:
            raise DeclarationError(f"{self.name}: what is kept is said of a primitive of one output, before its pullback")
        for name, op in ops.items():
            same = op.arrays == self.arrays and {p.name for p in op.params} <= {p.name for p in self.params}
            if op.kind != "primitive" or op.outputs or op.variadic or not same:
                raise DeclarationError(
                    f"{self.name}.keeping({name}=...): a primitive of one output of the same arrays, with parameters of this op's names, "
                    f"got {op!r}"
                )
            if name in (*self.arrays, *(p.name for p in self.params), "y"):
                raise DeclarationError(f"{self.name}.keeping({name}=...): there is an argument of this name")
        self.kept.update(ops)
        return self

    def guard(self, **rules: Any) -> Op:
        """What stands for the pullback in a sweep that has met zeros for what was not chosen: a zero cotangent gives zero.

        It is linear in the cotangent at zero too.
        """
        if self.kind not in ("primitive", "multilinear") or not self.rules:
            raise DeclarationError(f"{self.name}: guards are given to a primitive or a multilinear op, after its pullback or adjoint")
        for name, rule in rules.items():
            self._check_rule("guard", name, rule, ("F", "g"))
            if set(names_of(rule, 2)) - set(names_of(self.rules[name], 2)):
                raise DeclarationError(f"{self.name}.guard({name}=...): it names what the pullback does not, and so is not saved")
        self.guards.update(rules)
        return self

    def pushforward(self, **rules: Any) -> Op:
        """What the tangent of each argument adds to the output's: a function ``(F, t, names...)``."""
        if self.kind != "primitive" or not self.rules:
            raise DeclarationError(f"{self.name}: a pushforward is given to a primitive, after its pullback")
        for name, rule in rules.items():
            self._check_rule("pushforward", name, rule, ("F", "t"))
        self.pushes.update(rules)
        return self

    def batch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """How the op computes on a batch: ``(F, batched, *arrays, **params)``, batch axis first.

        `batched` tells for each array whether it has the batch axis.
        """
        self.batch_rule = rule
        return rule

    def diagonal(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """How the op computes where NumPy's arrays among its arguments are batches with a `diagonal`.

        ``(*arrays)``, one of them such a batch, the others NumPy's arrays; gives a batch, or None where `batch` serves.
        """
        self.diagonal_rule = rule
        return rule

    # -- checks --------------------------------------------------------------------------------
    def _need(self, *kinds: str) -> None:
        if self.kind not in kinds:
            raise DeclarationError(f"{self.name} is {self.kind}; this statement is for {' and '.join(kinds)} ops")
        if self.rules:
            raise DeclarationError(f"{self.name}: its derivative was given before")

    def _take(self, statement: str, rules: dict[str, Any], first: tuple[str, ...]) -> Op:
        missing = [a for a in self.arrays if a not in rules]
        if missing:
            raise DeclarationError(
                f"{self.name}.{statement}: say what the derivative for {', '.join(missing)} is: a rule, "
                "no_derivative (there is none), or not_implemented (nobody has written it)"
            )
        for name, rule in rules.items():
            self._check_rule(statement, name, rule, first)
        self.rules = {
            a: _raises(self, a) if rules[a] is not_implemented else rules[a] for a in self.arrays
        }
        return self

    def _check_rule(self, statement: str, name: str, rule: Any, first: tuple[str, ...]) -> None:
        if name not in self.arrays:
            raise DeclarationError(
                f"{self.name}.{statement}({name}=...): the arrays of {self.name} are {', '.join(self.arrays)}"
            )
        if isinstance(rule, Word | str | int | float):
            return
        if not isinstance(rule, FunctionType):
            raise DeclarationError(f"{self.name}.{statement}({name}=...): a rule is a function, got {rule!r}")
        names = argument_names(rule.__code__)
        known = {"y", *self.arrays, *self.kept, *(p.name for p in self.params)}
        begins = len(names) >= len(first) and names[0] == "F" and (len(first) == 1 or names[1] in ("g", "t"))
        if not begins:  # one function may serve as pullback and pushforward, so its second name is free
            raise DeclarationError(f"{self.name}.{statement}({name}=...): a rule begins with {', '.join(first)}")
        for n in names[len(first) :]:
            if n not in known:
                raise DeclarationError(
                    f"{self.name}.{statement}({name}=...): {n!r} is none of {', '.join(sorted(known))}"
                )

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a derivative."""
        return tuple(a for a, r in self.rules.items() if r is not no_derivative)


def _raises(op: Op, name: str) -> Rule:
    def partial(F: Any) -> NoReturn:
        raise NotDifferentiable(f"{op.name}: the derivative for {name} is not implemented")

    def rule(F: Any, g: Any) -> NoReturn:
        partial(F)

    if op.kind == "elementwise":
        return partial
    return rule


def _entry_stub(op: Op) -> Callable[..., Any]:
    """The public function.  Its first call compiles it and takes over the compiled code, so identity stays."""
    from tapegrad.registry.entry import stub

    return stub(op)
