"""Results with names, as PyTorch has them: tuples that print as `torch.return_types.max(values=..., indices=...)`."""

from __future__ import annotations

from typing import Any

_TWO = ["max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"]
_OTHERS = {
    "aminmax": ("min", "max"),
    "qr": ("Q", "R"),
    "svd": ("U", "S", "V"),
    "slogdet": ("sign", "logabsdet"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "lu_unpack": ("P", "L", "U"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "frexp": ("mantissa", "exponent"),
    "triangular_solve": ("solution", "cloned_coefficient"),
    "geqrf": ("a", "tau"),
    "linalg_solve_ex": ("result", "info"),
    "lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_qr": ("Q", "R"),
    "linalg_svd": ("U", "S", "Vh"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"),
    "linalg_cholesky_ex": ("L", "info"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lu": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
}


class _Named(tuple[Any, ...]):
    """A tuple whose items have names too."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values: Any) -> Any:
        if len(values) == 1 and len(cls._fields) > 1:
            values = tuple(values[0])
        return tuple.__new__(cls, values)

    def __getattr__(self, name: str) -> Any:
        fields = type(self)._fields
        if name in fields:
            return self[fields.index(name)]
        raise AttributeError(f"'{type(self).__module__}.{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        inner = ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{inner})"

    def __reduce__(self) -> Any:
        return type(self), tuple(self)


def _make(name: str, fields: tuple[str, ...]) -> type[_Named]:
    return type(name, (_Named,), {"__slots__": (), "_fields": fields, "__module__": "tapegrad.torch._named"})


KINDS = {name: _make(name, fields) for name, fields in {**dict.fromkeys(_TWO, ("values", "indices")), **_OTHERS}.items()}
globals().update(KINDS)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"no named result {name}")
