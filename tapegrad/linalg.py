"""Linear algebra: the array API's `linalg` extension, and more; leading axes are batches."""

from tapegrad.elsewhere import absent as _absent
from tapegrad.ops import determinants as _determinants
from tapegrad.ops import factorisations as _factorisations
from tapegrad.ops import matrix_functions as _matrix_functions
from tapegrad.ops import norms as _norms
from tapegrad.ops import products as _products
from tapegrad.ops import shape as _shape
from tapegrad.ops import solvers as _solvers
from tapegrad.registry.public import at_home as _at_home

cross = _products.cross.entry
diagonal = _products.diagonal.entry
matmul = _products.matmul.entry
multi_dot = _products.multi_dot.entry
outer = _products.outer.entry
tensordot = _products.tensordot.entry
trace = _products.trace.entry
vecdot = _products.vecdot.entry
matrix_transpose = _shape.matrix_transpose.entry
cholesky_solve = _solvers.cholesky_solve.entry
inv = _solvers.inv.entry
lstsq = _solvers.lstsq.entry
matrix_rank = _solvers.matrix_rank.entry
pinv = _solvers.pinv.entry
solve = _solvers.solve.entry
solve_triangular = _solvers.solve_triangular.entry
cholesky = _factorisations.cholesky.entry
eig = _factorisations.eig.entry
eigh = _factorisations.eigh.entry
eigvals = _factorisations.eigvals.entry
eigvalsh = _factorisations.eigvalsh.entry
qr = _factorisations.qr.entry
svd = _factorisations.svd.entry
svdvals = _factorisations.svdvals.entry
det = _determinants.det.entry
slogdet = _determinants.slogdet.entry
matrix_norm = _norms.matrix_norm.entry
vector_norm = _norms.vector_norm.entry
matrix_exp = _matrix_functions.matrix_exp.entry
matrix_power = _matrix_functions.matrix_power.entry

__all__ = [
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_at_home(__name__, globals())
__getattr__ = _absent(__name__)
__dir__ = __all__.copy
