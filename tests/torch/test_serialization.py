"""Files travel both ways: PyTorch reads what `save` writes, `load` what PyTorch writes, and neither runs foreign code."""

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T
from tapegrad.dtypes import as_dtype
from tapegrad.torch import _arrays, serialization
from tapegrad.torch._checkpoint import reading
from tapegrad.torch._size import Size

DTYPES = [
    *("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"),
    *("complex64", "complex128", "uint16", "uint32", "uint64"),
]
OLD = {"_use_new_zipfile_serialization": False}


def tensor(x: Any, dtype: str = "float32") -> Any:
    return _arrays.made(np.asarray(x).astype(as_dtype(dtype)))


def through(obj: Any) -> Any:
    file = io.BytesIO()
    serialization.save(obj, file)
    file.seek(0)
    return serialization.load(file)


def values(x: Any) -> Any:
    return _arrays.raw(x).astype(np.complex128).tolist()


# -- PyTorch's files -----------------------------------------------------------------------------------------------
@pytest.mark.interop("torch")
@pytest.mark.parametrize("how", [{}, OLD], ids=["archive", "pickles"])
def test_what_pytorch_writes_is_read(how: dict[str, Any]) -> None:
    import torch

    x = torch.arange(12.0).reshape(3, 4)
    saved = {
        **{
            d: torch.ones(3, dtype=getattr(torch, d))
            for d in DTYPES
            if not (how and d.startswith("uint") and d != "uint8")
        },
        **{"t": x.t(), "row": x[1], "step": x[:, ::2], "scalar": torch.tensor(3.5), "empty": torch.zeros(0, 3)},
        "expanded": torch.ones(1).expand(4),
        "leaf": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(x[0]),
        "frozen": torch.nn.Parameter(x[2], requires_grad=False),
        "buffer": torch.nn.Buffer(x[1]),
    }
    plain = {
        "size": x.shape,
        "nested": [(1, 2.5, None, True, "text", b"bytes", 1 + 2j, {3, 4}), OrderedDict(a=2**70)],
    }
    file = io.BytesIO()
    torch.save({"tensors": saved, "plain": plain, "dtype": torch.bfloat16, "device": torch.device("cpu")}, file, **how)
    file.seek(0)
    found = serialization.load(file)
    assert found["plain"] == plain
    assert isinstance(found["plain"]["size"], Size)
    assert repr(found["dtype"]) == "torch.bfloat16"
    assert found["device"].type == "cpu"
    for name, theirs in saved.items():
        ours = found["tensors"][name]
        assert str(ours.dtype) == str(theirs.dtype), name
        assert tuple(ours.shape) == tuple(theirs.shape), name
        assert values(ours) == theirs.detach().to(torch.complex128).tolist(), name
        assert ours.requires_grad == theirs.requires_grad, name
    assert [_arrays.is_parameter(found["tensors"][name]) for name in ("parameter", "frozen", "t")] == [
        True,
        True,
        False,
    ]
    assert np.shares_memory(_arrays.raw(found["tensors"]["t"]), _arrays.raw(found["tensors"]["row"]))


@pytest.mark.interop("torch")
def test_state_dicts_of_modules_and_optimisers_are_read() -> None:
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimiser = torch.optim.Adam(net.parameters())
    net(torch.rand(4, 2)).sum().backward()
    optimiser.step()
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimiser": optimiser.state_dict(), "loss": np.float64(0.5)}, file)
    file.seek(0)
    found = serialization.load(file)
    assert {k: values(v) for k, v in found["net"].items()} == {
        k: v.to(torch.complex128).tolist() for k, v in net.state_dict().items()
    }
    assert found["net"]._metadata == net.state_dict()._metadata
    assert found["optimiser"]["param_groups"] == optimiser.state_dict()["param_groups"]
    assert values(found["optimiser"]["state"][0]["step"]) == 1
    assert found["loss"] == 0.5


@pytest.mark.interop("torch")
def test_pytorch_reads_what_is_written(tmp_path: Any) -> None:
    import torch

    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    saved = {d: tensor([1, 0, 1], d) for d in DTYPES}
    saved |= {"t": _arrays.made(base.T), "row": _arrays.made(base[1]), "flipped": _arrays.made(base[::-1])}
    saved |= {"scalar": tensor(3.5), "empty": tensor(np.zeros((0, 3)))}
    plain = {"size": Size((1, 2)), "nested": [(1, 2.5, None, "text", b"bytes", 1 + 2j, {3}), OrderedDict(a=2**70)]}
    parameter = _arrays.parameter(tensor([1.0, 2.0]))
    obj = {"tensors": saved, "plain": plain, "dtype": T.bfloat16, "device": T.device("cpu"), "parameter": parameter}
    path = tmp_path / "model.pt"
    serialization.save(obj, path)
    for words in [{}, {"mmap": True}]:
        found = torch.load(path, weights_only=True, **words)
        assert found["plain"] == plain
        assert isinstance(found["plain"]["size"], torch.Size)
        assert (found["dtype"], found["device"]) == (torch.bfloat16, torch.device("cpu"))
        assert isinstance(found["parameter"], torch.nn.Parameter)
        assert found["parameter"].requires_grad
        for name, ours in saved.items():
            theirs = found["tensors"][name]
            assert str(theirs.dtype) == str(ours.dtype), name
            assert theirs.to(torch.complex128).tolist() == values(ours), name
        assert found["tensors"]["t"].stride() == (1, 4)
        assert (
            found["tensors"]["t"].untyped_storage().data_ptr() == found["tensors"]["row"].untyped_storage().data_ptr()
        )


# -- our own -------------------------------------------------------------------------------------------------------
def test_what_was_written_is_read_back(tmp_path: Any) -> None:
    base = np.arange(6, dtype=np.float32).reshape(2, 3)
    shared = _arrays.made(base)
    obj: dict[str, Any] = {
        "a": shared,
        "again": shared,
        "t": _arrays.made(base.T),
        "b": [tensor(d == "bool", d) for d in DTYPES],
    }
    obj["self"] = obj
    found = through(obj)
    assert found["self"] is found
    assert found["a"] is found["again"]
    assert values(found["t"]) == values(obj["t"])
    assert np.shares_memory(_arrays.raw(found["t"]), _arrays.raw(found["a"]))
    assert [str(x.dtype) for x in found["b"]] == [str(x.dtype) for x in obj["b"]]
    path = tmp_path / "file"
    serialization.save({"x": shared}, str(path))
    assert values(serialization.load(path, map_location="cpu")["x"]) == values(shared)


def test_numbers_start_at_multiples_of_64_bytes() -> None:
    file = io.BytesIO()
    serialization.save([tensor([1.0]), tensor([2.0, 3.0])], file)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            assert (info.header_offset + 30 + len(info.filename) + len(info.extra)) % 64 == 0
            assert info.compress_type == zipfile.ZIP_STORED


# -- what is refused -----------------------------------------------------------------------------------------------
class Evil:
    def __reduce__(self) -> Any:
        return print, ("this ran",)


class Harmless:
    def __init__(self) -> None:
        self.x = 3


class Net(T.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = T.nn.Sequential(T.nn.Linear(3, 2), T.nn.ReLU())
        self.act = T.tanh

    def forward(self, x: Any) -> Any:
        return self.act(self.layers(x))


def archive_of(data: bytes, **entries: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", data)
        for name, content in entries.items():
            archive.writestr(f"a/data/{name}", content)
    file.seek(0)
    return file


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_file_runs_nothing(protocol: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"asks for (builtins|__builtin__).print, which is not among"):
        serialization.load(archive_of(pickle.dumps(Evil(), protocol)), weights_only=False)
    assert capsys.readouterr().out == ""


def test_a_class_is_read_where_it_was_allowed() -> None:
    file = archive_of(pickle.dumps(Harmless(), 2))
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[Harmless\]\)"):
        serialization.load(file)
    file.seek(0)
    with serialization.safe_globals([Harmless]):
        assert serialization.load(file).x == 3
    assert serialization.get_safe_globals() == []


def test_a_module_is_read_whole_where_that_was_asked_for() -> None:
    net = Net()
    file = io.BytesIO()
    serialization.save({"net": net, "note": "text"}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"which is not among what a file may name"):
        serialization.load(file)
    file.seek(0)
    found = serialization.load(file, weights_only=False)["net"]
    assert type(found) is Net
    assert found.act is net.act
    x = T.ones(2, 3)
    assert found(x).tolist() == net(x).tolist()


@pytest.mark.interop("torch")
def test_a_module_of_pytorch_is_read_whole() -> None:
    import torch

    theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.BatchNorm1d(2)).eval()
    file = io.BytesIO()
    torch.save(theirs, file)
    file.seek(0)
    ours = serialization.load(file, weights_only=False)
    assert [type(layer).__name__ for layer in ours] == ["Linear", "ReLU", "BatchNorm1d"]
    np.testing.assert_allclose(ours(T.ones(4, 3)).tolist(), theirs(torch.ones(4, 3)).tolist(), rtol=1e-6)


@pytest.mark.parametrize(
    "call", [b"ctorch\nmanual_seed\n(K\x05tR.", b"(K\x05itorch\nmanual_seed\n.", b"(ctorch\nmanual_seed\nK\x05o."]
)
def test_a_function_that_a_file_may_name_is_not_called(call: bytes) -> None:
    T.manual_seed(3)
    with pytest.raises(pickle.UnpicklingError, match=r"manual_seed.* may be named in a file, but not be called"):
        serialization.load(archive_of(b"\x80\x02" + call), weights_only=False)
    assert T.initial_seed() == 3


def test_a_class_that_is_no_module_is_not_made_whatever_was_asked_for() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"asks for .*Harmless, which is not among"):
        serialization.load(archive_of(pickle.dumps(Harmless(), 2)), weights_only=False)


def rebuilt(*arguments: Any) -> bytes:
    """A pickle of a tensor with these arguments, of which the first stands for a storage of two numbers."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ"
    rest = b"".join(pickle.dumps(a, 2)[2:-1] for a in arguments)
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + rest + b"tR."


@pytest.mark.parametrize(
    "arguments", [(0, (3,), (1,)), (1, (2,), (1,)), (0, (2,), (2,)), (-1, (1,), (1,)), (0, (2,), (-1,))]
)
def test_a_tensor_outside_of_its_storage_is_refused(arguments: Any) -> None:
    good = archive_of(rebuilt(0, (2,), (1,), False, None), **{"0": np.float32([1, 2]).tobytes()})
    assert values(serialization.load(good)) == [1, 2]
    bad = archive_of(rebuilt(*arguments, False, None), **{"0": np.float32([1, 2]).tobytes()})
    with pytest.raises(pickle.UnpicklingError, match=r"storage of 2 elements|a tensor has offset"):
        serialization.load(bad)


def test_states_are_set_on_what_the_file_has_made_only() -> None:
    data = b"\x80\x02ctorch\nfloat32\n}X\x08\x00\x00\x00itemsizeK\x01sb."
    with pytest.raises(pickle.UnpicklingError, match="a state for an object of type dtype"):
        serialization.load(archive_of(data))
    assert T.float32.itemsize == 4


@pytest.mark.parametrize(
    ("content", "error", "text"),
    [
        (b"no pickle", pickle.UnpicklingError, "no file of torch.save"),
        (b"", pickle.UnpicklingError, "no file of torch.save"),
        (pickle.dumps(3, 2), RuntimeError, "Invalid magic number; corrupt file?"),
        (bytes(257) + b"ustar" + bytes(1000), pickle.UnpicklingError, "no file of torch.save"),
    ],
)
def test_other_files_are_refused(content: bytes, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        serialization.load(io.BytesIO(content))


def test_an_archive_of_something_else_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/constants.pkl", b"")
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"a compiled program \(TorchScript\): it has no data.pkl"):
        serialization.load(file)


def test_numbers_of_a_gpu_need_a_place_to_go() -> None:
    data = rebuilt(0, (2,), (1,), False, None).replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    entries = {"0": np.float32([1, 2]).tobytes()}
    with pytest.raises(RuntimeError, match=r"torch.load with map_location=torch.device\('cpu'\)"):
        serialization.load(archive_of(data, **entries))
    for place in ["cpu", T.device("cpu"), lambda storage, location: storage, {"cuda:0": "cpu"}]:
        assert values(serialization.load(archive_of(data, **entries), map_location=place)) == [1, 2]


def test_what_can_not_be_written_or_opened_is_said(tmp_path: Any) -> None:
    with pytest.raises(AttributeError, match="with a 'write' attribute"):
        serialization.save({}, 3)
    with pytest.raises(AttributeError, match="with a 'read' attribute"):
        serialization.load(3)
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        serialization.save({}, tmp_path / "none" / "x.pt")
    with pytest.raises(NotImplementedError, match="is read but not written"):
        serialization.save({}, io.BytesIO(), _use_new_zipfile_serialization=False)
    assert reading.ALLOWED == {}


def written(t: Any, obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(obj, file, **options)
    file.seek(0)
    return file


@pytest.mark.interop("torch")
@pytest.mark.parametrize("zipped", [True, False])
def test_what_pytorch_left_to_the_reader_is_done(zipped: bool) -> None:
    import torch

    z = torch.tensor([1 + 2j, 3 - 1j])
    for x in (z.conj(), z.conj().imag):
        found = T.load(written(torch, x, _use_new_zipfile_serialization=zipped))
        assert found.tolist() == x.tolist()


@pytest.mark.interop("torch")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_sparse_tensors_go_to_pytorch_and_back() -> None:
    import torch

    for write, read in ((torch, T), (T, torch), (T, T)):
        for coalesced in (True, False):
            x = write.sparse_coo_tensor(write.tensor([[0, 0], [1, 1]]), write.tensor([2.0, 3.0]), (2, 3))
            y = read.load(written(write, {"x": x.coalesce() if coalesced else x}))["x"]
            assert y.is_sparse
            assert y.is_coalesced() == coalesced
            assert y.to_dense().tolist() == [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
