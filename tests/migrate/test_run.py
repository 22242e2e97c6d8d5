"""`python -m tapegrad run`: a script of another framework, run on a facade."""

import re
import subprocess
import sys
import textwrap

import pytest

from tapegrad.migrate import ScriptError, run_script, style_of


@pytest.mark.parametrize(
    ("source", "styles"),
    [
        ("import torch", ("torch",)),
        ("def f():\n    from torch.nn import functional", ("torch",)),
        ("import tensorflow as tf", ("tf",)),
        ("from tensorflow.keras import layers", ("tf",)),
        ("import torch, tensorflow", ("torch", "tf")),
        ("import numpy", ()),
        ("from .torch import x", ()),
        ("import torchvision", ()),
    ],
)
def test_the_style_is_what_the_script_imports(source, styles):
    assert style_of(source) == styles


def run(tmp_path, source, *arguments):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    return command(str(script), *arguments)


def command(*arguments, folder=None):
    return subprocess.run(
        [sys.executable, "-m", "tapegrad", "run", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


#: A program of several files, of which only the inner ones import a framework.
PROGRAM = {
    "train.py": """
        import argparse
        from net import model, data as source

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--rate", type=float, required=True)
            options = parser.parse_args()
            print(options.rate, model.Net()(source.points()).shape, __file__, __spec__)

        if __name__ == "__main__":
            main()
    """,
    "net/__init__.py": "",
    "net/__main__.py": """
        import sys
        from .model import Net
        print("net", sys.argv[1:], __package__, __spec__.name)
    """,
    "net/model.py": """
        from .layers import nn, Last
        class Net(nn.Sequential):
            def __init__(self):
                super().__init__(nn.Linear(3, 2), Last())
    """,
    "net/layers.py": """
        from torch import nn
        class Last(nn.Module):
            def forward(self, x):
                return x.relu()
    """,
    "net/data.py": """
        import multiprocessing
        import torch
        def points():
            return torch.ones(4, 3)
        def where(_):
            return torch.Tensor.__module__, tuple(points().shape), __name__
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(where, [0]))
    """,
}


@pytest.fixture
def program(tmp_path):
    (tmp_path / "net").mkdir()
    for name, text in PROGRAM.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def test_a_program_of_several_files_is_run_and_its_style_is_found_in_them(program):
    done = command("train.py", "--rate", "0.5", folder=program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["0.5", "torch.Size([4,", "2])", str(program / "train.py"), "None"]
    assert command("train.py", folder=program).returncode == 2
    assert "--rate RATE" in command("train.py", "--help", folder=program).stdout


def test_modules_are_run_by_name_and_relative_imports_work(program):
    done = command("-m", "net", "a", "-b", folder=program)
    assert (done.stdout, done.stderr) == ("net ['a', '-b'] net net.__main__\n", "")
    missing = command("-m", "net.nothing", folder=program)
    assert (missing.returncode, "no module named 'net.nothing'" in missing.stderr) == (2, True)


def test_processes_that_a_program_spawns_find_the_facade_too(program):
    done = command("-m", "net.data", folder=program)
    assert (done.stdout, done.stderr) == ("[('tapegrad.torch._tensor', (4, 3), '__mp_main__')]\n", "")


def test_a_folder_with_a_main_file_is_run(tmp_path):
    (tmp_path / "__main__.py").write_text("import torch\nprint(torch.Tensor.__module__, __name__)\n")
    assert command(str(tmp_path)).stdout == "tapegrad.torch._tensor __main__\n"


def test_the_facade_has_the_name_of_torch_while_it_stands_for_it():
    from tapegrad import torch
    from tapegrad.migrate.aliases import aliased

    with aliased(["torch"]):
        assert torch.__name__ == "torch"
        with aliased(["torch", "tf"]):
            assert torch.__name__ == "torch"
        assert torch.__name__ == "torch"
    assert torch.__name__ == "tapegrad.torch"


def test_imports_give_the_facade_and_the_script_is_the_main_program(tmp_path):
    done = run(
        tmp_path,
        """
        import sys
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torch.optim import SGD
        print(torch.__name__, F.__name__, nn.Linear.__module__.partition(".")[0], SGD.__module__.partition(".")[0])
        print(__name__, sys.argv[1:], F is torch.nn.functional, sys.modules["torch"] is torch)
        x = torch.tensor(3.0, requires_grad=True)
        (x * x).backward()
        print(x.grad.item())
        """,
        "a",
        "--flag",
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "torch tapegrad.torch.nn.functional tapegrad tapegrad",
        "__main__ ['a', '--flag'] True True",
        "6.0",
    ]


def test_functorch_is_found_too(tmp_path):
    done = run(tmp_path, "import torch\nfrom functorch import grad, vmap\nprint(vmap(grad(torch.sin))(torch.zeros(2)).tolist())")
    assert done.stdout == "[1.0, 1.0]\n", done.stderr


def test_parts_of_parts_are_imported_by_their_full_names(tmp_path):
    done = run(
        tmp_path,
        """
        from torch.utils.data._utils.collate import default_collate
        from torch.utils.data._utils.worker import get_worker_info
        from torch.optim.adamw import AdamW
        print(default_collate([1, 2]).tolist(), get_worker_info(), AdamW.__name__)
        """,
    )
    assert done.stdout == "[1, 2] None AdamW\n", done.stderr


def test_an_import_of_a_module_leaves_the_function_of_its_name_where_it_is(tmp_path):
    done = run(
        tmp_path,
        """
        import torch
        import torch.autograd.gradcheck
        from torch.autograd.gradcheck import GradcheckError
        print(torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True)))
        """,
    )
    assert done.stdout == "True\n", done.stderr


def test_a_traceback_shows_the_script_alone(tmp_path):
    done = run(tmp_path, "import torch\ndef f():\n    raise ValueError('mine')\nf()\n")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'script.py", line 4' in lines[1]
    assert lines[-1] == "ValueError: mine"
    assert "migrate" not in done.stderr


def test_exit_codes_are_the_scripts(tmp_path):
    assert run(tmp_path, "import torch\nraise SystemExit(3)\n").returncode == 3
    failed = run(tmp_path, "import torch\nraise SystemExit('no')\n")
    assert (failed.returncode, failed.stderr) == (1, "no\n")


def test_a_missing_name_says_who_lacks_it_and_what_is_near(tmp_path):
    done = run(tmp_path, "import torch\ntorch.linspce\n")
    assert done.returncode == 1
    assert "linspace" in done.stderr
    assert "tapegrad" in done.stderr
    done = run(tmp_path, "import torch.nn.functionl\n")
    assert "functional" in done.stderr


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("torch.optim.Adamm", "facade lacks it; did you mean torch.optim.Adam?"),
        ("torch.nn.init.xavier_norml_", "did you mean torch.nn.init.xavier_normal_?"),
        ("torch.ones(2).sume()", "Tensor.sume; did you mean Tensor.sum?"),
        ("from torch.utils.data import DataLoadr", "did you mean torch.utils.data.DataLoader?"),
        ("from torch import arrange", "did you mean torch.arange?"),
        ("[].sume", "AttributeError: 'list' object has no attribute 'sume'"),
    ],
)
def test_the_nearest_is_named_wherever_the_name_is_missing(tmp_path, line, text):
    done = run(tmp_path, f"import torch\n{line}\n")
    assert (done.returncode, text in done.stderr) == (1, True), done.stderr
    assert ("whose facade" in done.stderr) == ("Tensor" in text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tf.nn.reluu", "did you mean tf.nn.relu?"),
        ("tf.data.Dataset.from_tensor_slice", "Dataset.from_tensor_slice; did you mean Dataset.from_tensor_slices?"),
        ("tf.keras.layers.Dens", "keras.layers.Dens; did you mean keras.layers.Dense?"),
        ("from tensorflow.keras.layers import Dens", "tf.keras.layers.Dens; did you mean tf.keras.layers.Dense?"),
    ],
)
def test_the_nearest_is_named_in_the_style_of_tensorflow_and_in_keras(tmp_path, line, text):
    if "keras" in line:
        pytest.importorskip("keras")
    done = run(tmp_path, f"import tensorflow as tf\n{line}\n")
    assert (done.returncode, text in done.stderr) == (1, True), done.stderr
    assert done.stderr.count("did you mean") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("import numpy", "imports none of torch"), ("import torch\nx = (", "line 2"), (None, "No such file")],
)
def test_what_cannot_be_run_is_refused(tmp_path, text, message):
    script = tmp_path / "s.py"
    if text is not None:
        script.write_text(text)
    with pytest.raises(ScriptError, match=message):
        run_script(script)


def test_afterwards_all_is_as_it_was(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("import torch\nimport sys\nsys.argv.append('x')\n")
    before = dict(sys.modules), list(sys.path), list(sys.argv), list(sys.meta_path)
    assert run_script(script) == 0
    left = {n for n in sys.modules.keys() - before[0].keys() if n.partition(".")[0] in ("torch", "tensorflow")}
    assert left == set()
    assert (sys.path, sys.argv, sys.meta_path) == before[1:]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import torch.export", "torch.export is not there: .*call the function or module itself"),
        ("import torch.nn.functionl", "the nearest is torch.nn.functional"),
        ("from tensorflow.contrib import slim", "tensorflow.contrib is not there: .*a name of TensorFlow 1"),
        ("import tensorflow as tf; tf.placeholder(tf.float32)", "no tf.placeholder, a name of TensorFlow 1: .*give values to functions"),
        ("import tensorflow as tf; tf.random_normal([2])", "no tf.random_normal, a name of TensorFlow 1, now tf.random.normal"),
        ("import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()", "graphs and sessions of TensorFlow 1 are not here"),
        ("import tensorflow.compat.v1 as tf; tf.Session()", "compat.v1.Session: there are no graphs and sessions here"),
        ("import tensorflow.compat.v1 as tf; tf.layers", "no tf.compat.v1.layers, a name of TensorFlow 1, now tf.keras.layers"),
    ],
)
def test_what_is_not_there_is_told_with_what_to_do(tmp_path, source, text):
    done = run(tmp_path, source)
    assert done.returncode == 1
    assert re.search(text, done.stderr)


def test_the_old_names_of_tensorflow_lead_to_names_that_are_there():
    from tapegrad import tf
    from tapegrad.tf.tensorflow1 import _RENAMED

    for name in {new.partition("(")[0] for new in _RENAMED.values() if not new.startswith("keras.")}:
        found = tf
        for part in name.split("."):
            found = getattr(found, part)
