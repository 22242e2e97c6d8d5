"""The dtypes of results under autocast are PyTorch's: products are shorter, losses are float32, the rest is as it comes."""

import pytest

from tapegrad import torch as ours

theirs = pytest.importorskip("torch")

SHORTER = """F.conv1d(s, t.ones(5, 3, 3)) ;; F.conv2d(im, t.ones(5, 3, 3, 3)) ;; F.conv_transpose2d(im, t.ones(3, 2, 2, 2))
nn.Conv2d(3, 4, 3)(im) ;; t.addmm(x, x, x) ;; t.baddbmm(x[None], x[None], x[None]) ;; x @ x ;; x @ x[0] ;; x.mm(x)
t.einsum("ij,jk->ik", x, x) ;; t.linalg.multi_dot([x, x, x]) ;; F.linear(x, b, x[0]) ;; F.scaled_dot_product_attention(q, q, q)
nn.BatchNorm2d(3)(nn.Conv2d(3, 3, 3)(im)) ;; nn.PReLU()(b) ;; F.layer_norm(b, (4,)) ;; F.softmax(b, 0)"""
LONGER = """F.cross_entropy(b, k) ;; F.mse_loss(b, b) ;; F.l1_loss(b, b) ;; F.binary_cross_entropy(b.sigmoid(), b * 0)
F.binary_cross_entropy_with_logits(b, b * 0) ;; F.kl_div(b, b.abs(), reduction="batchmean") ;; F.nll_loss(b, k) ;; b.prod() ;; t.cdist(b, b)
t.linalg.inv(i) ;; t.linalg.solve(i, b) ;; nn.CrossEntropyLoss()(x @ x, k) ;; t.mv(x, x[0]) ;; x[0].dot(x[0])
x + b ;; t.cat([b, x]) ;; F.conv2d(im.double(), t.ones(5, 3, 3, 3).double()) ;; F.embedding(k, x)"""
CALLS = [call.strip() for line in (SHORTER, LONGER) for part in line.split("\n") for call in part.split(";;")]


def result(t, call, dtype):
    x = t.arange(16.0).reshape(4, 4) / 16
    names = {"t": t, "nn": t.nn, "F": t.nn.functional, "x": x, "b": x.to(dtype), "i": t.eye(4).to(dtype), "k": t.tensor([0, 1, 2, 3]),
             "im": t.ones(2, 3, 8, 8), "s": t.ones(2, 3, 8), "q": t.ones(2, 2, 4, 4)}  # fmt: skip
    with t.autocast("cpu", dtype=dtype):
        return str(eval(call, names).dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("call", CALLS)
def test_results_have_the_dtypes_of_PyTorch(call, dtype):
    assert result(ours, call, getattr(ours, dtype)) == result(theirs, call, getattr(theirs, dtype))


def test_recurrent_layers_are_shorter_in_bfloat16():
    assert result(ours, "nn.LSTM(4, 3)(x[:, None])[0]", ours.bfloat16) == result(theirs, "nn.LSTM(4, 3)(x[:, None])[0]", theirs.bfloat16)


def test_functions_are_as_before_once_autocast_is_left():
    x = ours.ones(2, 2)
    with ours.autocast("cpu"):
        assert ours.addmm(x, x, x).dtype == ours.bfloat16
    assert ours.addmm(x, x, x, beta=2).tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert ours.nn.functional.mse_loss(x.bfloat16(), x.bfloat16()).dtype == ours.bfloat16
