"""Devices: names, contexts, moving; what computes stays where its arguments are.  On logical CPUs, in processes of their own."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DeviceError

PROGRAMS = Path(__file__).parent / "programs"
#: Run in one process, for TensorFlow takes long to start.
PROGRAM_OF = {
    "context": """
        with tg.device("CPU:1"):
            made = [tg.asarray([0.5]), tg.zeros(2), tg.arange(3), tg.random.normal(2), tg.asarray(np.ones(2)), tg.Variable([1.5])]
            with tg.device("/device:CPU:2"):
                made += [tg.eye(2), tg.ones_like(made[0]), tg.full((2,), 3.5, device="CPU:0"), tg.zeros(2, device="cpu")]
            with tg.device("cpu"):
                made.append(tg.linspace(0, 1, 3))
        print(*(x.device for x in [*made, tg.zeros(2)]))
    """,
    "moving": """
        x = tg.asarray([0.5, 1.5], device="CPU:1")
        with tg.GradientTape() as outer:
            outer.watch(x)
            with tg.GradientTape() as tape:
                tape.watch(x)
                y = tg.sum(x.to("CPU:2") ** 3).to_device("cpu") * 2.0
            g = tape.gradient(y, x)
        h = outer.gradient(g, x)
        print(y.device, g.device, h.device, g.numpy(), h.numpy(), x.to("CPU:1") is x)
    """,
    "two devices": """
        x, y = tg.ones((2,), device="CPU:1"), tg.ones((2,), device="CPU:2")
        try:
            x + y
        except tg.errors.DeviceError as error:
            print(error)
    """,
    "constants": """
        x = tg.ones((2,), device="CPU:1")
        print((x + np.ones(2, np.float32)).device, (2.5 * x).device, tg.where(x > 0, x, 0.5).device)
    """,
    "variable": """
        v = tg.Variable(tg.ones((2,), device="CPU:1"))
        v.assign(tg.zeros((2,), device="CPU:2"))
        print(v.device, v.numpy())
        v.assign(np.full(2, 3, np.float32))
        v.assign_add(np.full(2, 3, np.float32))
        print(v.device, v.numpy())
    """,
    "compiled": """
        f = tg.function(lambda x: tg.softmax(x * 2.0) + 1.0)
        for name in ("CPU:0", "CPU:1", "CPU:2", "CPU:1"):
            print(f(tg.ones((4, 3), device=name)).device)
        print(f.trace_count)
    """,
    "not there": """
        for make in (lambda: tg.device("GPU:0"), lambda: tg.zeros(2, device="CPU:3"), lambda: tg.zeros(2).to("TPU")):
            try:
                make()
            except tg.errors.DeviceError as error:
                print(error)
    """,
}
MAIN = """
import contextlib, io, json, sys, textwrap
import numpy as np, tensorflow as tf, tapegrad as tg
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
printed = {}
for name, program in json.loads(sys.argv[1]).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(textwrap.dedent(program), {"np": np, "tg": tg})
    printed[name] = out.getvalue().strip()
print(json.dumps(printed))
"""


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def on_three_cpus() -> dict[str, str]:
    found: dict[str, str] = json.loads(run("-c", MAIN, json.dumps(PROGRAM_OF)).splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def every_op() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(str(PROGRAMS / "stays_on_its_device.py")).splitlines()[-1])
    return found


def test_every_op_and_its_derivatives_stay_on_the_device_of_their_arguments(every_op: dict[str, Any]) -> None:
    assert not every_op["away"], "\n".join(every_op["away"])
    assert (every_op["results"] > 2000, every_op["ops"] > 300) == (True, True)


def test_an_op_that_leaves_its_device_is_found(every_op: dict[str, Any]) -> None:
    assert "exp: " in every_op["away where exp leaves"][0]


@pytest.mark.interop("keras")
def test_optimizers_of_both_styles_and_writes_to_variables_stay_on_the_device() -> None:
    pytest.importorskip("keras")
    found: dict[str, list[str]] = json.loads(run(str(PROGRAMS / "learning_stays_on_its_device.py")).splitlines()[-1])
    assert {name: problems for name, problems in found.items() if problems} == {}
    assert sum("torch" in name for name in found) >= 17
    assert sum("keras" in name for name in found) >= 14
    assert sum("variable" in name for name in found) == 17


def test_a_context_says_where_new_arrays_are_made(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["context"]
    assert found.split() == ["CPU:1"] * 6 + ["CPU:2", "CPU:1", "CPU:0", "cpu", "cpu", "cpu"]


def test_moving_is_a_linear_op_whose_cotangent_goes_back(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["moving"]
    assert found == "cpu CPU:1 CPU:1 [ 1.5 13.5] [ 6. 18.] True"


def test_arrays_on_two_devices_do_not_meet_silently(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["two devices"]
    assert "add(x1, x2): expected all arrays on one device, got CPU:1 and CPU:2" in found
    assert "x1: float32 (2,) on CPU:1, x2: float32 (2,) on CPU:2" in found


def test_constants_of_numpy_and_python_go_where_they_are_needed(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["constants"]
    assert found.split() == ["CPU:1"] * 3


def test_a_variable_stays_and_takes_values_from_elsewhere(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["variable"]
    assert found.splitlines() == ["CPU:1 [0. 0.]", "CPU:1 [6. 6.]"]


def test_compiled_functions_compute_where_their_inputs_are(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["compiled"]
    assert found.split() == ["CPU:0", "CPU:1", "CPU:2", "CPU:1", "3"]


def test_a_device_that_is_not_there_is_refused_with_those_that_are(on_three_cpus: dict[str, str]) -> None:
    found = on_three_cpus["not there"]
    assert found.count("expected 'cpu' (NumPy's kernels), or one of TensorFlow's: 'CPU:0', 'CPU:1', 'CPU:2'; got") == 3


@pytest.mark.parametrize("name", ["CPU:0", "/CPU:0", "cpu:0", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"])
def test_names_of_tensorflow_are_names_of_its_kernels(name: str) -> None:
    x = tg.zeros(2, device=name)
    assert type(x.raw).__name__ == "EagerTensor"
    assert x.device == "CPU:0"


def test_to_takes_kernels_and_dtypes_too() -> None:
    x = tg.asarray([0.25, 0.5])
    assert x.to("tensorflow").device == "CPU:0"
    assert x.to("tensorflow").to("numpy").device == "cpu"
    assert x.to("float64").dtype == tg.float64 == x.to(tg.float64).dtype
    assert x.to(device="CPU:0", dtype=tg.float64).dtype == tg.float64
    assert x.to("float32") is x


def test_a_context_ends_where_an_exception_ends_it() -> None:
    context, seen = tg.device("CPU:0"), []

    def fails() -> None:
        with context:
            seen.append(tg.zeros(2).device)
            with context:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert [*seen, tg.zeros(2).device] == ["CPU:0", "cpu"]


def test_a_context_is_of_its_thread() -> None:
    seen: list[str] = []
    with tg.device("CPU:0"):
        thread = threading.Thread(target=lambda: seen.append(tg.zeros(2).device))
        thread.start()
        thread.join()
    assert seen == ["cpu"]


def test_a_device_and_a_backend_have_to_go_together() -> None:
    with pytest.raises(ArgumentError, match="do not go together"):
        tg.zeros(2, device="cpu", backend="tensorflow")
    with pytest.raises(ValueError, match="not on the device 'CPU:0'"):
        tg.asarray(np.ones(2), device="CPU:0", copy=False)
    with pytest.raises(DeviceError, match="got 'GPU:7'"):
        tg.astype(tg.zeros(2), tg.float64, device="GPU:7")


def test_the_namespace_lists_devices_of_kernels_that_are_loaded() -> None:
    tg.zeros(2, backend="tensorflow")
    assert tg.__array_namespace_info__().devices()[:2] == ["cpu", "CPU:0"]
    with tg.device("CPU:0"):
        assert tg.__array_namespace_info__().default_device() == "CPU:0"
