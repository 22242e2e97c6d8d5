"""Calls whose graphs are shown as PyTorch shows them, and the tensors that they are made of."""

from typing import Any

CALLS = """
h+h2 | h+1 | 1-h | h-h2 | h*h2 | h*2 | h/h2 | h/2 | 2/h | -h | h**2 | h**3 | h**0.5 | h**h2.abs() | 2**h | h.abs() | abs(h) | h.exp()
h.log() | h.sin() | h.cos() | h.tan() | h.tanh() | h.sinh() | h.cosh() | h.sigmoid() | h.relu() | h.sqrt() | h.rsqrt()
h.reciprocal() | h.asin() | h.acos() | h.atan() | h.atan2(h2) | h.erf() | h.erfc() | h.erfinv() | h.expm1() | h.log1p() | h.log2()
h.log10() | h.lgamma() | h.digamma() | h.sign() | h.floor() | h.ceil() | h.round() | h.trunc() | h.frac() | h.neg() | h.positive()
h.square()
h.sum() | h.sum(1) | h.sum((0,1)) | h.sum(1,keepdim=True) | h.mean() | h.mean(0) | h.prod() | h.prod(1) | h.std() | h.std(1)
h.var() | h.var(1) | h.max() | h.min() | h.max(1)[0] | h.min(1).values | h.amax(1) | h.amin() | h.aminmax()[0] | h.median()
h.median(1)[0] | h.mode(1)[0] | h.kthvalue(2,1)[0] | h.norm() | h.norm(1) | h.norm(dim=1) | h.norm(3) | h.logsumexp(1) | h.cumsum(0)
h.cumprod(1) | h.cummax(1)[0] | h.cummin(1)[0] | h.logcumsumexp(1) | h.nansum() | h.dist(h2) | h.trace()
t.linalg.norm(h) | t.linalg.vector_norm(h,ord=1) | t.linalg.matrix_norm(h) | t.linalg.det(s) | t.linalg.slogdet(s)[1] | t.logdet(spd)
t.linalg.inv(s) | t.inverse(s) | t.linalg.solve(s,m) | t.linalg.cholesky(spd) | t.linalg.eigh(spd)[0] | t.linalg.svd(h)[1]
t.linalg.qr(s)[0] | t.linalg.pinv(s) | t.matrix_exp(s) | t.linalg.eigvalsh(spd) | t.linalg.multi_dot([h,h.t(),h]) | t.det(s)
t.linalg.svdvals(h) | t.linalg.lstsq(s,m)[0] | t.triangular_solve(m,s)[0] | t.linalg.solve_triangular(s,m,upper=True)
t.cholesky_solve(m,spd) | t.linalg.eig(s)[0]
h@h.t() | h.mm(h.t()) | t.matmul(b,b2) | t.bmm(b,b2) | h.mv(v) | h@v | v@v | v.dot(v) | t.outer(v,v) | t.addmm(m4,h,h.t())
t.addmv(u,h,v) | t.addbmm(m33,b,b2) | t.baddbmm(b33,b,b2) | t.addr(m66,v,v) | t.einsum('ij,kj->ik',h,h2) | t.einsum('i,i->',v,v)
t.tensordot(h,h2.t(),1) | t.kron(h,h2) | t.cross(h[:,:3],h2[:,:3],dim=1) | t.inner(v,v) | t.vdot(v,v) | t.chain_matmul(h,h.t())
t.cdist(h,h2) | t.addcmul(h,h2,h) | t.addcdiv(h,h2,h) | t.lerp(h,h2,0.3) | t.lerp(h,h2,h) | t.hypot(h,h2)
h.view(24) | h.view(-1) | h.reshape(24) | h.reshape(2,12) | h.flatten() | h.ravel() | h.unflatten(1,(2,3)) | h.t() | h.T | h.mT
h.transpose(0,1) | h.permute(1,0) | h.unsqueeze(0) | h[None] | h[:,None] | h.unsqueeze(0).squeeze() | h.unsqueeze(0).squeeze(0)
h.expand(2,4,6) | h.expand_as(b46) | h.repeat(2,1) | h.repeat_interleave(2,1) | h.tile(2) | h.contiguous() | h.t().contiguous()
h.clone() | h.detach().requires_grad_()*1 | h.swapaxes(0,1) | h.movedim(0,1) | h.view_as(h2) | h.narrow(0,0,2) | h.select(0,1)
h.unfold(1,2,2) | h.diagonal() | h.diag() | v.diag() | t.diag_embed(v) | h.tril() | h.triu() | h.flip(0) | h.fliplr() | h.roll(1,0)
h.rot90() | h.as_strided((2,2),(1,2)) | h.squeeze() | h.view(2,2,6) | h.adjoint()
h[0] | h[0,1] | h[1:] | h[:,1:3] | h[1:,2] | h[...,0] | h[::2] | h[idx] | h[h>0] | h[idx,idx] | h[:,idx] | h[-1] | h[0:1]
h.index_select(0,idx) | h.gather(1,gi) | h.take(idx) | h.masked_select(h>0) | h.masked_fill(h>0,1.) | t.where(h>0,h,h2)
t.where(h>0,h,0.) | h.chunk(2)[0] | h.split(2)[1] | h.split([1,3])[0] | h.unbind(0)[0] | t.tensor_split(h,2)[0] | t.hsplit(h,2)[0]
h.scatter(1,gi,h2) | h.scatter(1,gi,1.) | h.scatter_add(1,gi,h2) | h.index_add(0,idx,h2[:2]) | h.index_copy(0,idx,h2[:2])
h.index_fill(0,idx,1.) | h.masked_scatter(h>0,h2) | h.index_put((idx,),h2[:2]) | h.scatter_reduce(1,gi,h2,'sum') | h.put(idx,v[:2])
h.sort(1)[0] | h.topk(2)[0] | t.msort(h)
t.cat([h,h2]) | t.stack([h,h2]) | t.hstack([h,h2]) | t.vstack([h,h2]) | t.concat([h,h2],1) | t.column_stack([v,v])
t.block_diag(h,h2) | t.meshgrid(v,v,indexing='ij')[0]
h.clamp(0,1) | h.clamp(min=0) | h.clamp(max=1) | h.clamp_min(0) | h.clamp_max(1) | t.clamp(h,h2,h2+1) | t.clip(h,0,1)
t.maximum(h,h2) | t.minimum(h,h2) | t.max(h,h2) | t.fmax(h,h2) | t.fmin(h,h2) | t.remainder(h,2) | t.fmod(h,2) | h%2
t.logaddexp(h,h2) | t.xlogy(h,h2) | t.copysign(h,h2) | t.nan_to_num(h) | t.sinc(h) | t.logit(h) | t.exp2(h) | t.deg2rad(h)
t.rad2deg(h) | t.asinh(h) | t.acosh(h) | t.atanh(h) | t.sgn(h) | t.i0(h) | t.polygamma(1,h) | t.special.expit(h) | t.special.entr(h)
t.special.ndtri(h) | t.special.ndtr(h) | t.special.log_ndtr(h) | t.special.erfcx(h) | t.special.xlog1py(h,h2) | t.special.i1(h)
t.threshold(h,0.,1.) | t.real(z) | t.imag(z) | t.angle(z) | z.abs() | t.conj(z) | t.view_as_real(z) | t.complex(h,h2) | t.polar(h,h2)
z*z | z.sum() | t.fft.rfft(v) | t.fft.irfft(z[0]) | t.fft.fftshift(v)
h.double() | h.half() | h.float() | h.to(t.float64) | h.type(t.float64) | h.type_as(dbl) | h.bfloat16() | h.to(t.complex64) | h+dbl
h.requires_grad_() | h.cpu()
F.relu(h) | F.relu6(h) | F.leaky_relu(h) | F.elu(h) | F.selu(h) | F.celu(h) | F.gelu(h) | F.gelu(h,approximate='tanh') | F.silu(h)
F.mish(h) | F.softplus(h) | F.softsign(h) | F.softshrink(h) | F.hardshrink(h) | F.tanhshrink(h) | F.hardtanh(h) | F.hardsigmoid(h)
F.hardswish(h) | F.logsigmoid(h) | F.sigmoid(h) | F.tanh(h) | F.softmax(h,1) | F.log_softmax(h,1) | F.softmin(h,1)
F.gumbel_softmax(h) | F.glu(h) | F.rrelu(h) | F.threshold(h,0.,1.) | F.normalize(h) | F.dropout(h) | F.dropout(h,0.5,False)
F.alpha_dropout(h) | F.dropout2d(b) | F.linear(h,h2) | F.linear(h,h2,u) | F.linear(b,h2[:, :4]) | F.linear(b,h2[:, :4],u)
F.bilinear(h,h2,t.ones(2,6,6)) | F.embedding(idx,h)
F.mse_loss(h,h2) | F.l1_loss(h,h2) | F.smooth_l1_loss(h,h2) | F.huber_loss(h,h2) | F.binary_cross_entropy(h.sigmoid(),tgt)
F.binary_cross_entropy_with_logits(h,tgt) | F.cross_entropy(h,cls) | F.cross_entropy(h,cls,reduction='none')
F.cross_entropy(h,cls,label_smoothing=0.1) | F.cross_entropy(h,tgt) | F.nll_loss(h,cls) | F.kl_div(h,tgt)
F.kl_div(h,tgt,reduction='batchmean') | F.gaussian_nll_loss(h,h2,h2.abs()) | F.poisson_nll_loss(h,h2) | F.cosine_similarity(h,h2)
F.cosine_embedding_loss(h,h2,sg) | F.hinge_embedding_loss(h,sgn) | F.margin_ranking_loss(h,h2,sgn) | F.triplet_margin_loss(h,h2,h+1)
F.multi_margin_loss(h,cls) | F.multilabel_margin_loss(h,mlt) | F.multilabel_soft_margin_loss(h,tgt) | F.soft_margin_loss(h,sgn)
F.ctc_loss(c3.log_softmax(2),t.tensor([[1,2]]),t.tensor([4]),t.tensor([2])) | F.pairwise_distance(h,h2) | F.pdist(h)
F.mse_loss(h,h2,reduction='none')
F.conv1d(seq,w1) | F.conv2d(img,w2) | F.conv2d(img,w2,u2) | F.conv3d(vol,w3) | F.conv_transpose2d(img,wt) | F.max_pool1d(seq,2)
F.max_pool2d(img,2) | F.max_pool3d(vol,2) | F.avg_pool1d(seq,2) | F.avg_pool2d(img,2) | F.avg_pool3d(vol,2)
F.adaptive_avg_pool1d(seq,2) | F.adaptive_avg_pool2d(img,2) | F.adaptive_avg_pool2d(img,1) | F.adaptive_max_pool1d(seq,2)
F.adaptive_max_pool2d(img,2) | F.lp_pool2d(img,2,2) | F.unfold(img,2) | F.fold(fo,(4,4),2) | F.pad(h,(1,1))
F.pad(img,(1,1,1,1),mode='reflect') | F.pad(img,(1,1,1,1),mode='replicate') | F.interpolate(img,scale_factor=2)
F.interpolate(img,scale_factor=2,mode='bilinear') | F.interpolate(img,scale_factor=2,mode='bicubic')
F.interpolate(seq,scale_factor=2,mode='linear') | F.interpolate(img,size=3,mode='area') | F.pixel_shuffle(img,2)
F.pixel_unshuffle(img,2) | F.grid_sample(img,gr) | F.affine_grid(th,(2,1,2,2)) | F.layer_norm(h,(6,)) | F.layer_norm(h,(6,),v,v)
F.batch_norm(h,None,None,training=True) | F.batch_norm(img,t.zeros(4),t.ones(4)) | F.group_norm(img,2) | F.instance_norm(img)
F.local_response_norm(img,2) | F.scaled_dot_product_attention(b,b,b) | F.channel_shuffle(img,2)
F.max_unpool2d(*F.max_pool2d(img,2,return_indices=True),2) | F.embedding_bag(idx[None],h) | F.upsample(img,scale_factor=2)
nn.Linear(6,3)(h) | nn.Linear(6,3,bias=False)(h) | nn.Linear(4,3)(b) | nn.GRU(6,3)(h)[0] | nn.RNN(6,3)(h)[0] | nn.LSTMCell(6,3)(h)[0]
nn.RNNCell(6,3)(h) | nn.MultiheadAttention(4,2)(b,b,b)[0] | nn.Embedding(5,3)(idx) | nn.BatchNorm2d(4)(img) | nn.LayerNorm(6)(h)
nn.Flatten()(img) | nn.CrossEntropyLoss()(h,cls) | nn.MSELoss()(h,h2) | nn.Conv2d(4,2,3,padding=1)(img) | nn.Dropout()(h)
nn.BatchNorm1d(6)(h) | nn.Identity()(h) | nn.Softmax(1)(h) | nn.TransformerEncoderLayer(4,2,8)(b) | nn.Upsample(scale_factor=2)(img)
nn.AdaptiveAvgPool2d(1)(img) | nn.GroupNorm(2,4)(img) | nn.InstanceNorm2d(4)(img) | nn.ReLU(inplace=True)(h)
ip('add_',1) | ip('mul_',2) | ip('mul_',h2) | ip('add_',h2) | ip('sub_',h2) | ip('div_',h2) | ip('exp_') | ip('sigmoid_')
ip('relu_') | ip('tanh_') | ip('clamp_',0,1) | ip('zero_') | ip('fill_',1.) | ip('copy_',h2) | ip('neg_') | ip('sqrt_')
ip('pow_',2) | ip('masked_fill_',h2>0,1.) | ip('index_fill_',0,idx,1.) | ip('scatter_',1,gi,1.) | ip('scatter_add_',1,gi,h2)
ip('index_add_',0,idx,h2[:2]) | ip('t_') | ip('unsqueeze_',0) | ip('squeeze_') | ip('addcmul_',h2,h2) | ip('lerp_',h2,0.5)
ip('__setitem__',0,1.) | ip('__setitem__',h2>0.5,1.) | ip('__setitem__',idx,h2[:2]) | ip('__setitem__',(slice(None),idx),2.)
ip('__setitem__',(slice(1,3),idx),2.) | ip('__setitem__',(0,1),h2[0,0]) | ip('uniform_') | ip('normal_') | ip('transpose_',0,1) | ip('abs_')
ip('clamp_min_',0) | ip('floor_')
t.autograd.grad(h.pow(3).sum(),x,create_graph=True)[0] | t.broadcast_tensors(h,h2[0])[1]
t.utils.checkpoint.checkpoint(lambda a:a.exp(),h,use_reentrant=True) | t.Tensor.sin(h) | t.nn.utils.parameters_to_vector([h,h2])
t.renorm(h,2,0,1.) | t.diff(h) | t.sum(h) | t.std_mean(h)[0] | t.var_mean(h)[1] | t.baddbmm(b33,b,b2,beta=2) | t.ones_like(h)*h
t.true_divide(h,h2) | t.special.logsumexp(h,1) | t.special.softmax(h,1) | t.softmax(h,1) | t.relu(h) | t.rsub(h,1) | t.subtract(h,h2)
t.multiply(h,h2) | t.divide(h,h2) | t.negative(h) | t.absolute(h) | t.float_power(h,2) | t.ldexp(h,idx[0]) | t.sigmoid(h)
t.squeeze(h) | t.swapaxes(h,0,1) | t.flatten(h) | t.unflatten(h,1,(2,3)) | t.moveaxis(h,0,1)
"""


def calls() -> list[str]:
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]


def names(t: Any) -> dict[str, Any]:
    """What calls are made of: none of the tensors but x is a leaf."""
    t.manual_seed(0)
    x = t.linspace(-1.3, 1.7, 24).reshape(4, 6).requires_grad_()
    h = x * 1.5

    def of(*shape: int) -> Any:
        count = 1
        for n in shape:
            count *= n
        return t.linspace(-1, 1.1, count).reshape(shape).requires_grad_() * 1.1

    def written(name: str, *args: Any) -> Any:
        y = h.clone()
        getattr(y, name)(*args)
        return y

    square = t.linspace(-1, 2, 9).reshape(3, 3) + t.eye(3) * 2
    return {
        "t": t, "F": t.nn.functional, "nn": t.nn, "x": x, "h": h, "ip": written,
        "h2": t.linspace(0.1, 0.9, 24).reshape(4, 6).requires_grad_() * 1.2,
        "s": square.clone().requires_grad_() * 1.1, "spd": (square @ square.t() + t.eye(3)).requires_grad_() * 1.1,
        "m": of(3, 2), "m4": of(4, 4), "v": of(6), "u": of(4), "b": of(2, 3, 4), "b2": of(2, 4, 3), "m33": of(3, 3), "b33": of(2, 3, 3),
        "m66": of(6, 6), "b46": t.zeros(3, 4, 6), "idx": t.tensor([0, 2]), "gi": t.tensor([[0, 1], [1, 2]]),
        "z": t.complex(x.detach(), x.detach()).requires_grad_() * 1.5, "dbl": t.ones(4, 6, dtype=t.float64),
        "tgt": t.full((4, 6), 0.3), "cls": t.tensor([0, 1, 2, 0]), "sg": t.tensor([1.0, -1, 1, -1]), "sgn": t.ones(4, 6),
        "mlt": t.tensor([[0, -1, 0, 0, 0, 0]] * 4), "c3": of(4, 1, 6), "seq": of(2, 4, 7), "img": of(2, 4, 4, 4), "vol": of(1, 2, 4, 4, 4),
        "w1": of(3, 4, 2), "w2": of(3, 4, 2, 2), "u2": of(3), "w3": of(3, 2, 2, 2, 2), "wt": of(4, 3, 2, 2), "fo": of(1, 8, 9),
        "gr": of(2, 3, 3, 2), "th": of(2, 2, 3),
    }  # fmt: skip
