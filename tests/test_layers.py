"""Imports point downwards only, and `import tapegrad` loads NumPy and nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

import tapegrad

PACKAGE = Path(tapegrad.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# The parts of tapegrad, and what each may import besides itself. A new part needs a line: that is the moment to think.
LEAVES = {"_version", "dtypes", "elsewhere", "errors", "info", "philox", "silence", "sobol"}
CORE = LEAVES | {"core"}
REGISTRY = CORE | {"kernels", "registry"}
OPS = REGISTRY | {"ops"}
PROGRAMS = OPS | {"tree", "variable", "recording", "asked", "inspect", "seeds", "tape", "forward", "transforms"}
PROTOCOLS = {"protocols", *(f"numpy_{n}" for n in ("compositions", "fits", "functions", "options", "pieces", "rows", "ufuncs", "writes"))}
NAMES = PROGRAMS | PROTOCOLS | {"fft", "functional", "linalg", "loss_scale", "nn", "random", "sparse", "special"}
FACADES = NAMES | {"tapegrad"}  # write `import tapegrad as tg`, as a user does
MAY_IMPORT = {
    **dict.fromkeys(LEAVES, LEAVES),
    "kernels": LEAVES,
    "core": LEAVES,
    "events": LEAVES,
    "registry": REGISTRY,
    "ops": OPS,
    "tree": CORE,
    "sparse": OPS,
    "variable": OPS | {"sparse"},
    "recording": OPS | {"tree"},
    "asked": OPS | {"tree"},
    "inspect": OPS | {"variable"},
    "seeds": OPS | {"asked"},
    **dict.fromkeys(("tape", "forward"), OPS | {"tree", "variable", "recording", "asked", "inspect", "seeds"}),
    "transforms": PROGRAMS | {"random", "sparse"},
    "functional": OPS | {"tree", "variable"},
    "loss_scale": OPS | {"sparse", "tree", "variable"},
    **dict.fromkeys(("fft", "linalg", "random", "special"), OPS),
    "nn": OPS | {"random"},
    **dict.fromkeys(PROTOCOLS, OPS | PROTOCOLS | {"tree"}),
    "tapegrad": NAMES | {"compiled", "ecosystem"},  # tapegrad/__init__.py
    "ecosystem": NAMES | {"torch", "tf"},  # whose functions stand for their frameworks' own
    "testing": FACADES | {"compiled", "torch", "tf"},  # whose functions it checks too
    "demo": FACADES,
    "keras": FACADES | {"compiled"},
    "torch": FACADES | {"events"},
    "tf": FACADES | {"compiled", "events", "keras"},
    "compiled": PROGRAMS | {"random", "sparse"},
    "migrate": LEAVES | {"registry", "tapegrad"},  # it finds the facades by name, when a script asks for one
    "__main__": LEAVES | {"demo", "migrate", "registry"},  # the registry for documents of ops
}
HEAVY = (
    *("tensorflow", "torch", "jax", "ray", "scipy", "optree", "einops"),
    *("hypothesis", "pytest", "sklearn", "matplotlib", "rich"),
)


def part(module: str) -> str:
    """The part of tapegrad that a module belongs to: tapegrad.core.node -> core; tapegrad -> tapegrad."""
    return module.split(".")[1] if "." in module else module


def imported(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of each module of tapegrad that the source imports, at its top or inside a function."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
            # `from tapegrad import ops` imports a part, `from tapegrad import sin` the package itself.
            names = [
                f"{origin}.{alias.name}" if origin == "tapegrad" and is_part(alias.name) else origin
                for alias in node.names
            ]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "tapegrad")


def is_part(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def upward(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """The imports that the layers forbid."""
    here = part(module)
    return [
        f"line {line}: {module} imports {name}, but {here} may import only {sorted(MAY_IMPORT[here])}"
        for line, name in imported(source, module, is_package=is_package)
        if part(name) != here and part(name) not in MAY_IMPORT[here]
    ]


def module_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_imports_point_downwards(path: Path) -> None:
    module = module_of(path)
    assert part(module) in MAY_IMPORT, f"give {part(module)!r} its line in MAY_IMPORT"
    assert upward(path.read_text("utf-8"), module, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tapegrad.kernels.numpy", "import tapegrad.core.node"),
        ("tapegrad.core.engine", "from tapegrad.kernels import numpy"),
        ("tapegrad.core.engine", "from tapegrad import ops"),
        ("tapegrad.core.engine", "from ..ops.linalg import matmul"),
        ("tapegrad.core.engine", "def late():\n    import tapegrad.tape"),
        ("tapegrad.core.tensor", "from tapegrad import sin"),
        ("tapegrad.ops.linalg", "import tapegrad as tg"),
        ("tapegrad.ops.linalg", "from .. import tape"),
        ("tapegrad.tape", "from tapegrad.demo.digits import train"),
        ("tapegrad.__main__", "import tapegrad.ops"),
    ],
)
def test_an_upward_import_is_found(module: str, source: str) -> None:
    assert upward(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tapegrad.kernels.numpy", "from tapegrad.errors import ShapeError\nfrom .casts import promote"),
        ("tapegrad.core.engine", "from . import node\nimport numpy"),
        ("tapegrad.ops.linalg", "from tapegrad import kernels\nfrom ..core.node import Node"),
        ("tapegrad.demo.digits", "import tapegrad as tg"),
    ],
)
def test_a_downward_import_passes(module: str, source: str) -> None:
    assert upward(source, module) == []


def test_import_loads_nothing_heavy() -> None:
    program = f"import sys, tapegrad; print(*(name for name in {HEAVY} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


@pytest.mark.parametrize("module", ["", "fft", "functional", "linalg", "nn", "special", "vmap"])
def test_a_module_that_is_imported_at_its_first_use_brings_the_ops_that_it_calls_by_name(module: str) -> None:
    # In a process of its own, for here every op is declared already.
    program = """
import ast, pathlib, sys
import tapegrad
from tapegrad.registry.space import F
getattr(tapegrad, sys.argv[1], None)
for name, module in sorted(sys.modules.items()):
    if name.startswith("tapegrad."):
        for node in ast.walk(ast.parse(pathlib.Path(module.__file__).read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("F", "_F"):
                if not hasattr(F, node.attr):
                    print(f"{name}:{node.lineno}: F.{node.attr}")
"""
    result = subprocess.run([sys.executable, "-c", program, module], capture_output=True, text=True, check=True)
    assert result.stdout == ""


#: Where arrays of NumPy's come in, go out, or are written to while nobody else holds them.
AT_THE_DOOR = {"convert", "exchange", "inplace"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "ops").glob("*.py")), ids=lambda path: path.stem)
def test_an_op_asks_no_array_which_library_made_it(path: Path) -> None:
    if path.stem in AT_THE_DOOR:
        return
    asked = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        question = isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"))
        if question and any(word in ast.unparse(node) for word in ("ndarray", "np.generic", "TFArray", "tf.Tensor")):
            asked.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not asked, "a kernel knows its arrays: " + "; ".join(asked)
