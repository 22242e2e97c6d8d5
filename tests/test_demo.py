"""`python -m tapegrad demo` as a user runs it: in a child process, with its output, exit code and picture."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.demo import digits, picture

PNG = b"\x89PNG\r\n\x1a\n"
COMMAND = (sys.executable, "-m", "tapegrad")


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_no_command_prints_help(tmp_path: Path) -> None:
    result = run(cwd=tmp_path)
    assert result.returncode == 0
    assert "demo" in result.stdout


def test_the_defaults_reach_97_percent_and_leave_a_picture(tmp_path: Path) -> None:
    result = run("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    accuracy = re.search(r"test accuracy ([\d.]+)%", result.stdout.splitlines()[-1])
    assert accuracy is not None, result.stdout
    assert float(accuracy[1]) > 97
    assert (tmp_path / "tapegrad-demo.png").read_bytes().startswith(PNG)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_reaches_97_percent(seed: int) -> None:
    images, test_images, labels, test_labels = digits.load(seed)
    params = digits.network(seed)
    for _ in digits.train(params, images, labels, epochs=60, batch=64, lr=0.1, seed=seed):
        pass
    predictions = digits.logits(params, test_images).numpy().argmax(axis=1)
    assert np.mean(predictions == test_labels) > 0.97


def test_piped_output_is_plain_lines(tmp_path: Path) -> None:
    result = run("demo", "--epochs", "3", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "\r" not in result.stdout
    assert "\x1b" not in result.stdout
    assert len(re.findall(r"^epoch \d/3  loss \d\.\d{4}  \d+\.\d s$", result.stdout, re.MULTILINE)) == 3


def test_a_terminal_gets_a_progress_bar(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    child = subprocess.Popen([*COMMAND, "demo", "--epochs", "3"], cwd=tmp_path, stdout=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    except OSError:  # how Linux says that the other end of a terminal is closed
        pass
    os.close(ours)
    assert child.wait() == 0
    assert "\u2501".encode() in shown  # the bar
    assert b"epoch 3/3" in shown
    assert re.search(rb"loss \d\.\d{4}", shown)


def test_the_same_seed_gives_the_same_run() -> None:
    def losses(seed: int) -> list[float]:
        images, _, labels, _ = digits.load(seed)
        return list(digits.train(digits.network(seed), images, labels, epochs=2, batch=64, lr=0.1, seed=seed))

    assert losses(4) == losses(4) != losses(5)


def test_quiet_prints_only_the_accuracy(tmp_path: Path) -> None:
    result = run("demo", "--epochs", "1", "--quiet", "--out", "mine.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("test accuracy ")
    assert result.stdout.count("\n") == 1
    assert (tmp_path / "mine.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "argument --epochs: expected a whole number from 1; got '0'"),
        (["--epochs", "two"], "argument --epochs: expected a whole number from 1; got 'two'"),
        (["--batch", "-3"], "argument --batch: expected a whole number from 1; got '-3'"),
        (["--batch", "1348"], "argument --batch: expected at most 1347, the training images; got 1348"),
        (["--seed", "4294967296"], "argument --seed: expected a whole number from 0 to 4294967295; got '4294967296'"),
        (["--lr", "0"], "argument --lr: expected a finite number above 0; got '0'"),
        (["--lr", "nan"], "argument --lr: expected a finite number above 0; got 'nan'"),
        (["--lr", "inf"], "argument --lr: expected a finite number above 0; got 'inf'"),
        (["--out", "digits.jpg"], "argument --out: expected a file name that ends in .png; got 'digits.jpg'"),
        (["--out", "no/folder.png"], "argument --out: cannot write 'no/folder.png': No such file or directory"),
        (["--out", "a-folder.png"], "argument --out: cannot write 'a-folder.png': Is a directory"),
        (["--momentum", "1"], "unrecognized arguments: --momentum 1"),
    ],
)
def test_bad_arguments_are_named_and_exit_with_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "a-folder.png").mkdir()
    result = run("demo", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.rstrip().endswith(message)
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a-folder.png"]


def test_an_unknown_command_exits_with_2(tmp_path: Path) -> None:
    assert run("dmeo", cwd=tmp_path).returncode == 2


def test_a_missing_extra_names_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['sklearn'] = None; from tapegrad.__main__ import main; sys.exit(main(['demo']))"
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "the demo needs scikit-learn" in result.stderr
    assert "pip install 'tapegrad[demo]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_diverging_run_says_so(tmp_path: Path) -> None:
    result = run("demo", "--lr", "1e30", cwd=tmp_path)
    assert result.returncode == 1
    assert "try a smaller --lr than 1e+30" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupt_ends_cleanly(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [*COMMAND, "demo", "--epochs", "100000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    child.stdout.readline()  # it has begun
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate()
    assert child.returncode == 130
    assert errors == "interrupted\n"


def test_shifting_moves_by_at_most_one_pixel() -> None:
    images = np.zeros((200, 8, 8), np.float32)
    images[:, 3, 4] = 1
    places = np.argwhere(digits.shifted(images, np.random.default_rng(3)))[:, 1:]
    assert len(places) == 200
    assert np.abs(places - (3, 4)).max() == 1
    assert np.mean(places == (3, 4)) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("mistakes", [0, 1, 20, 30])
def test_the_picture_is_drawn_however_many_are_wrong(tmp_path: Path, mistakes: int) -> None:
    labels = np.arange(30) % 10
    predictions = np.where(np.arange(30) < mistakes, (labels + 1) % 10, labels)
    figure = picture.draw([2.5, 1.5], 1, np.zeros((30, 8, 8)), labels, predictions)
    titles = [axes.get_title() for axes in figure.axes[1:]]
    assert len(titles) == 24
    assert sum("is" in title for title in titles) == min(mistakes, 12)
    figure.savefig(tmp_path / "picture.png")


Step = tuple[list[np.ndarray], np.ndarray, np.ndarray, float, list[np.ndarray]]


@pytest.fixture
def step() -> Step:
    """One step of the demo without its update: parameters, pixels, labels, loss, gradients."""
    images, _, labels, _ = digits.load(0)
    x, y = images[:64], labels[:64]
    params = digits.network(0)
    with tg.GradientTape() as tape:
        loss = tg.nn.cross_entropy(digits.logits(params, x), y)
    gradients = tape.gradient(loss, params)
    return [p.numpy() for p in params], x.reshape(64, 64), y, float(loss), [g.numpy() for g in gradients]


def assert_same(gradients: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, theirs in zip(gradients, expected, strict=True):
        # float32 sums of up to 256 terms, in another order: an error of about 256 * eps of the largest
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-5 * np.abs(theirs).max())


@pytest.mark.interop("torch")
def test_the_gradients_are_those_of_torch(step: Step) -> None:
    import torch

    parameters, x, y, loss, gradients = step
    w1, b1, w2, b2 = leaves = [torch.tensor(p, requires_grad=True) for p in parameters]
    expected = torch.nn.functional.cross_entropy(torch.relu(torch.tensor(x) @ w1 + b1) @ w2 + b2, torch.tensor(y))
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    assert_same(gradients, [leaf.grad.numpy() for leaf in leaves])


@pytest.mark.interop("jax")
def test_the_gradients_are_those_of_jax(step: Step) -> None:
    import jax

    def cross_entropy(parameters: list[jax.Array]) -> jax.Array:
        w1, b1, w2, b2 = parameters
        scores = jax.nn.log_softmax(jax.nn.relu(x @ w1 + b1) @ w2 + b2)
        return -scores[np.arange(len(y)), y].mean()

    parameters, x, y, loss, gradients = step
    expected, derivatives = jax.value_and_grad(cross_entropy)(parameters)
    assert loss == pytest.approx(float(expected), rel=1e-5)
    assert_same(gradients, [np.asarray(d) for d in derivatives])
