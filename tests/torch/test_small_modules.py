"""Modules that scripts import for a name or two: types, dlpack, compiler, fusion, attention's kernels, flags."""

import importlib
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("types", "Device Number FileLike _TensorOrTensors _size _dtype _int _float _bool"),
        ("compiler", "disable is_compiling is_dynamo_compiling allow_in_graph compile reset cudagraph_mark_step_begin"),
        ("cpu", "is_available device_count current_device synchronize current_stream stream Stream"),
        ("nn.common_types", "_size_1_t _size_2_t _size_3_t _size_any_t _ratio_2_t _size_2_opt_t"),
        ("nn.attention", "SDPBackend sdpa_kernel"),
        ("nn.utils.fusion", "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"),
        ("nn.utils.stateless", "functional_call"),
        ("utils.dlpack", "from_dlpack to_dlpack"),
        ("cuda.nvtx", "range_push range_pop range mark"),
        ("utils.data._utils.collate", "default_collate default_convert"),
        ("nn.parallel.distributed", "DistributedDataParallel"),
        ("nn.parallel.data_parallel", "DataParallel data_parallel"),
    ],
)
def test_a_module_has_what_scripts_import_from_it(module: str, names: str) -> None:
    theirs, ours = (importlib.import_module(f"{package}.{module}") for package in ("torch", "tapegrad.torch"))
    for name in names.split():
        assert hasattr(theirs, name)
        assert hasattr(ours, name), name


def test_memory_is_shared_with_whoever_speaks_dlpack() -> None:
    a = np.array([1.5, 2.5])
    x = T.from_dlpack(a)
    a[0] = 7.0
    assert x.tolist() == [7.0, 2.5]
    theirs = real.tensor([1.0, 2.0])
    y = T.utils.dlpack.from_dlpack(theirs)
    theirs[1] = 5.0
    assert y.tolist() == [1.0, 5.0]
    assert T.from_dlpack(T.utils.dlpack.to_dlpack(T.tensor([1, 2]))).tolist() == [1, 2]
    copied = T.from_dlpack(a, copy=True)
    a[1] = 0.0
    assert copied.tolist() == [7.0, 2.5]
    with pytest.raises(TypeError, match="__dlpack__ or a capsule"):
        T.from_dlpack([1, 2])


@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_a_layer_and_its_normalisation_are_one_layer_in_evaluation(kind: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 6, 6)).astype(np.float32)
    seen = []
    for torch in (real, T):
        torch.manual_seed(2)
        fusion = importlib.import_module(f"{torch.__name__}.nn.utils.fusion")
        if kind == "linear":
            layer, norm = torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4)
        else:
            layer = (torch.nn.ConvTranspose2d if kind == "transposed" else torch.nn.Conv2d)(3, 4, 3, bias=False)
            norm = torch.nn.BatchNorm2d(4)
        given = torch.tensor(x[0, 0] if kind == "linear" else x)
        norm(layer(given))
        layer.eval(), norm.eval()
        fused = (
            fusion.fuse_linear_bn_eval(layer, norm)
            if kind == "linear"
            else fusion.fuse_conv_bn_eval(layer, norm, transpose=kind == "transposed")
        )
        y = fused(given)
        assert np.allclose(y.detach().numpy(), norm(layer(given)).detach().numpy(), rtol=1e-4, atol=1e-5)
        seen.append(y.detach().numpy())
    assert np.allclose(seen[0], seen[1], rtol=1e-4, atol=1e-5)


def test_fusion_is_refused_in_training() -> None:
    from tapegrad.torch.nn.utils.fusion import fuse_conv_bn_eval

    with pytest.raises(AssertionError, match="only for eval"):
        fuse_conv_bn_eval(T.nn.Conv2d(1, 1, 1), T.nn.BatchNorm2d(1))


def test_flags_of_cudnn_go_around_a_block_and_around_a_function() -> None:
    @T.backends.cudnn.flags(enabled=False)
    def twice(x: Any) -> Any:
        return 2 * x

    with T.backends.cudnn.flags(enabled=True, benchmark=False), T.nn.attention.sdpa_kernel(T.nn.attention.SDPBackend.MATH):
        assert twice(3) == 6
    with pytest.raises(AssertionError, match="SDPBackend"), T.nn.attention.sdpa_kernel(["math"]):
        pass


def test_conversions_give_new_parameters_where_that_was_asked_for() -> None:
    module = T.nn.Linear(2, 2)
    kept = module.weight
    module.weight.grad = T.ones(2, 2)
    assert module.double().weight is kept
    T.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        module.float()
    finally:
        T.__future__.set_overwrite_module_params_on_conversion(False)
    assert module.weight is not kept
    assert (kept.dtype, module.weight.dtype, module.weight.grad.dtype) == (T.float64, T.float32, T.float32)
    assert isinstance(module.weight, T.nn.Parameter)


def test_a_function_is_as_it_was_after_the_compilers_words() -> None:
    @T.compiler.disable
    def f(x: int) -> int:
        return x + 1

    @T.compiler.disable(recursive=False)
    def g(x: int) -> int:
        return x + 2

    assert (f(1), g(1), T.compiler.is_compiling()) == (2, 3, False)


def test_the_blocks_of_a_transformers_layer_are_overridden_by_pytorchs_names():
    calls = []

    class Encoder(T.nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            calls.append(("attend", attn_mask is None, is_causal))
            return super()._sa_block(x, attn_mask, key_padding_mask, is_causal=is_causal)

        def _ff_block(self, x):
            return x * 0

    class Decoder(T.nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            calls.append(("remember", tuple(mem.shape)))
            return super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal)

    x, memory = T.randn(3, 2, 4), T.randn(5, 2, 4)
    layer = Encoder(4, 2, 8, dropout=0.0)
    y = layer(x)
    half = layer.norm1(x + layer.self_attn(x, x, x)[0])
    T.testing.assert_close(y, layer.norm2(half))
    Decoder(4, 2, 8)(x, memory)
    assert calls == [("attend", True, False), ("remember", (5, 2, 4))]


def test_dropout_is_part_of_each_block():
    layer = T.nn.TransformerDecoderLayer(4, 2, 8, dropout=1.0)
    x = T.randn(3, 2, 4)
    assert not layer._sa_block(x, None, None).any()
    assert not layer._mha_block(x, x, None, None).any()
    assert not layer._ff_block(x).any()


def test_names_that_programs_take_from_modules():
    assert T.nn.GRU(2, 3, 2)._flat_weights_names[4:] == ["weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"]
    assert T.nn.Conv2d(1, 1, (3, 5), padding=(1, 2))._reversed_padding_repeated_twice == [2, 2, 1, 1]
    assert T.nn.Conv2d(1, 1, (3, 4), padding="same")._reversed_padding_repeated_twice == [1, 2, 1, 1]
    assert T.nn.modules.module._addindent("a\nb", 3) == "a\n   b"
    w = T.nn.init._no_grad_uniform_(T.empty(50), 2.0, 3.0)
    assert 2 <= float(w.min()) < float(w.max()) <= 3
    assert T.nn.utils.fuse_conv_bn_eval is T.nn.utils.fusion.fuse_conv_bn_eval


def test_a_module_that_is_to_be_filled_draws_nothing():
    T.manual_seed(0)
    expected = T.rand(2).tolist()
    T.manual_seed(0)
    layer = T.nn.utils.skip_init(T.nn.Linear, 3, 4, bias=False)
    assert layer.weight.shape == (4, 3)
    assert T.rand(2).tolist() == expected
    with pytest.raises(RuntimeError, match="Expected a Module"):
        T.nn.utils.skip_init(int, 3)


def test_what_waits_for_its_shape_says_so():
    assert str(T.nn.LazyLinear(2).weight) == repr(T.nn.LazyLinear(2).weight) == "<UninitializedParameter>"
    assert str(T.nn.LazyBatchNorm1d().running_mean) == "<UninitializedBuffer>"
