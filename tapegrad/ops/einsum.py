"""Einstein's summation convention, in all forms that NumPy has."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.registry import composite, multilinear
from tapegrad.registry.lengths import may_agree

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _contracted(draw: Any) -> Any:
    shapes = {"i": "n", "j": 3, "k": "m", "l": 2}
    equation = draw.choice("ij,jk->ki", "ij->j", "ij,ij->", "i,k->ki", "ij,jk,kl->il", "ij,ij->i", "ij,jk,ik->", "lij,jk->lik")
    terms = equation.split("->")[0].split(",")
    return [draw.array(*(shapes[k] for k in term)) for term in terms], {"equation": equation}


@multilinear(variadic=True, public=False, laws=_contracted)
def contract(xp: Any, arrays: Any, /, equation: str) -> Any:
    """The sum of products that an equation such as "ij,jk->ik" says.

    All outputs are named, no letter stands twice in one term, and one letter has one length: `einsum` is what takes
    the other forms to this one.
    """
    return xp.contract(arrays, equation)


def _contract_adjoint(F: Any, g: Any, arrays: Any, equation: str) -> list[Any]:
    """The same contraction, with the output in the place of each argument in turn."""
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    found = []
    for i, (term, x) in enumerate(zip(terms, arrays, strict=True)):
        others = [F.conj(a) for j, a in enumerate(arrays) if j != i]
        names = [t for j, t in enumerate(terms) if j != i]
        known = set(output).union(*names) if names else set(output)
        lost = [k for k in term if k not in known]  # summed in this argument alone: repeated in its cotangent
        kept = "".join(k for k in term if k not in lost)
        c = F.contract([g, *others], ",".join([output, *names]) + "->" + kept)
        if lost:
            shape = tuple(1 if k in lost else n for k, n in zip(term, x.shape, strict=True))
            c = F.broadcast_to(F.reshape(c, shape), x.shape)
        found.append(c)
    return found


contract.adjoint(arrays=_contract_adjoint)


@contract.batch
def _contract_batch(F: Any, has: Any, arrays: Any, *, equation: str) -> Any:
    inputs, output = equation.split("->")
    letter = next(k for k in _LETTERS if k not in equation)
    terms = [letter + t if b else t for t, b in zip(inputs.split(","), has, strict=True)]
    return F.contract(arrays, ",".join(terms) + "->" + letter + output)


# -- all forms -------------------------------------------------------------------------------------------
def _summed(draw: Any) -> Any:
    shapes = {"i": "n", "j": 3, "k": "m", "l": 2}
    equation = draw.choice(
        "ii", "iij->ij", "jh,ij", "nd,nn->d", "...i,i...", "i...,...k->...k", "i,i", "jij->i", "->", "i, ,j->ji", "...j"
    )
    shapes.update(h="n", d="m", n=3)
    arrays = []
    for term in equation.split("->")[0].replace(" ", "").split(","):
        inside = draw.choice((), (2,), (2, 1), (1, 2)) if "..." in term else ()
        before, _, after = term.partition("...")
        dims = (*(shapes[k] for k in before), *inside, *(shapes[k] for k in after))
        arrays.append(draw.array(*dims) if dims else draw.filled(()))
    return arrays, {"equation": equation}


@composite(variadic=True, public=False, laws=_summed)
def einsum_of(F: Any, arrays: Any, /, equation: str) -> Any:
    """The sum of products that an equation says, of a sequence of arrays: `einsum`, with the arrays first."""
    terms, output = parsed(equation, tuple(tuple(a.shape) for a in arrays))
    lengths: dict[str, Any] = {}
    for term, x in zip(terms, arrays, strict=True):
        for k, n in zip(term, x.shape, strict=True):
            known = lengths.setdefault(k, n)
            if known in (1, n) or (type(known) is not int and n != 1):  # of a length that is open, another one tells more
                lengths[k] = n
            elif n != 1 and type(n) is int:
                shapes = ", ".join(str(tuple(a.shape)) for a in arrays)
                raise ShapeError(
                    f"einsum({equation!r}): expected axes of one letter to have one length, got {lengths[k]} and {n} "
                    f"for {k if k in equation else '...'} in shapes {shapes}"
                )
    found, names = [], []
    for term, x in zip(terms, arrays, strict=True):
        term, x = _without_repeats(F, term, x)  # noqa: PLW2901
        kept = [i for i, k in enumerate(term) if x.shape[i] != 1 or lengths[k] == 1]
        if len(kept) < len(term):  # a length of 1 where others have more: the letter says nothing of this array
            x = F.reshape(x, tuple(x.shape[i] for i in kept))  # noqa: PLW2901
        found.append(x)
        names.append("".join(term[i] for i in kept))
    return F.contract(found, ",".join(names) + "->" + output)


def _without_repeats(F: Any, term: str, x: Any) -> tuple[str, Any]:
    """A term in which no letter stands twice: diagonals are taken where one did."""
    while len(set(term)) < len(term):
        k = next(k for k in term if term.count(k) > 1)
        i = term.index(k)
        j = term.index(k, i + 1)
        if not may_agree((x.shape[i],), (x.shape[j],)):
            raise ShapeError(f"einsum: {k!r} stands for axes of lengths {x.shape[i]} and {x.shape[j]} of one array")
        x = F.diagonal(F.moveaxis(x, (i, j), (-2, -1)))
        term = term[:i] + term[i + 1 : j] + term[j + 1 :] + k
    return term, x


@functools.lru_cache(maxsize=256)
def parsed(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[str, ...], str]:
    """The letters of every axis of every array, and of the output: ellipsis and implicit output written out."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise ArgumentError(f"einsum({equation!r}): the equation has {len(terms)} terms, for {len(shapes)} arrays")
    for term in (*terms, output):
        letters = term.replace("...", "", 1)
        if not (letters.isascii() and (letters.isalpha() or not letters)):
            raise ArgumentError(f"einsum({equation!r}): expected letters and at most one '...' in a term, got {term!r}")
    ranks = [len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True)]
    for term, rank, shape in zip(terms, ranks, shapes, strict=True):
        if rank < 0 or (rank and "..." not in term):
            raise ShapeError(f"einsum({equation!r}): the term {term!r} does not fit an array of shape {shape}")
    free = "".join(k for k in _LETTERS if k not in equation)
    widest = max((r for t, r in zip(terms, ranks, strict=True) if "..." in t), default=0)
    if widest > len(free):
        raise ArgumentError(f"einsum({equation!r}): more than {len(_LETTERS)} different axes")
    inside = free[:widest]
    spelled = tuple(t.replace("...", inside[widest - r :]) for t, r in zip(terms, ranks, strict=True))
    if not arrow:
        all_letters = "".join(terms).replace(".", "")
        output = ("..." if widest else "") + "".join(sorted(k for k in set(all_letters) if all_letters.count(k) == 1))
    if widest and "..." not in output:
        raise ShapeError(f"einsum({equation!r}): the output has no '...' for the {widest} axes that '...' stands for")
    output = output.replace("...", inside)
    for k in output:
        if output.count(k) > 1:
            raise ArgumentError(f"einsum({equation!r}): a subscript stands once in the output, got {k!r} again")
        if not any(k in t for t in spelled):
            raise ArgumentError(f"einsum({equation!r}): the output subscript {k!r} is in none of the terms")
    return spelled, output


def einsum(equation: Any, /, *arrays: Any) -> Any:
    """The sum of products of arrays that an equation says.

    A letter names an axis; axes of one letter go together, and those that the output does not name are summed over.
    Without ``->`` the output is the letters that stand once, in alphabetical order.  ``...`` stands for axes that
    broadcast, a letter twice in one term for a diagonal; lengths of 1 broadcast.  NumPy's second form, arrays and lists
    of integers in turn and at the end the list of the output, is taken too.

    Raises ArgumentError for an equation that says nothing, ShapeError where it does not fit the arrays.

    >>> import tapegrad as tg
    >>> a = tg.asarray([[0.5, 1.5], [2.5, 3.5]])
    >>> tg.einsum("ij,kj->ik", a, a)
    Tensor([[ 2.5,  6.5],
            [ 6.5, 18.5]], dtype=float32)
    """
    if not isinstance(equation, str):
        equation, arrays = _from_lists((equation, *arrays))
    return einsum_of.entry(arrays, equation)


def _from_lists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Arrays and lists of integers in turn, as an equation and the arrays."""
    pairs = len(given) // 2
    lists = [given[2 * i + 1] for i in range(pairs)] + ([given[-1]] if len(given) % 2 else [])
    if not pairs or not all(isinstance(v, list | tuple) for v in lists):
        raise ArgumentError("einsum: expected an equation and arrays, or arrays and lists of axis numbers in turn")
    terms = ["".join("..." if k is Ellipsis else _LETTERS[k] for k in v) for v in lists]
    equation = ",".join(terms[:pairs]) + ("->" + terms[-1] if len(given) % 2 else "")
    return equation, tuple(given[2 * i] for i in range(pairs))
