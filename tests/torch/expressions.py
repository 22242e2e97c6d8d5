"""Expressions and statements about dtypes and indices, and the tensors that they are made of."""

from typing import Any

import numpy as np

PROMOTION = """
i+f ;; i*2. ;; i/i ;; i//i ;; i**2 ;; i**-1. ;; 2**i ;; f+d ;; h+f ;; h+bf ;; h+s ;; h*sd ;; i+s ;; i+sd ;; bo+bo ;; bo+1
bo*1. ;; bo&bo ;; i&3 ;; b8+1 ;; b8+i ;; b8-200 ;; c+f ;; c+d ;; c*1 ;; i*1j ;; f+1j ;; f//2 ;; i//2 ;; i%2 ;; i.float().sum()
i.sum() ;; bo.sum() ;; b8.sum() ;; bo.float().mean() ;; i.prod() ;; i.cumsum(0) ;; b8.cumsum(0) ;; f>i ;; i==f ;; f.max()
t.where(bo,i,f) ;; t.where(bo,1,2) ;; t.where(bo,f,0) ;; t.where(bo,1.,2) ;; t.cat([i,f]) ;; t.stack([i,d]) ;; i.add(1.5)
f.add(i,alpha=2) ;; t.maximum(i,f) ;; i.clamp(max=1.5) ;; i.clamp(0,1) ;; i.sqrt() ;; i.exp() ;; bo.exp() ;; i.abs()
i.sigmoid() ;; i.pow(2.) ;; i.pow(i) ;; t.pow(2.,i) ;; i.true_divide(2) ;; t.div(i,2,rounding_mode="trunc")
t.div(f,2,rounding_mode="floor") ;; i.float()/si ;; f*si ;; h*2 ;; h.sum() ;; bf.sum() ;; f.to(t.int32)
t.tensor([1.9,-1.9]).long() ;; t.tensor([2.5]).round() ;; t.tensor([300]).to(t.uint8) ;; t.tensor(-1).to(t.uint8) ;; ~bo ;; ~i
-i ;; i.logical_not() ;; i<<1 ;; i>>1 ;; i^3 ;; bo|bo ;; i.bitwise_and(1) ;; t.tensor(7)//2 ;; t.tensor(-7)//2 ;; t.tensor(-7)%3
t.tensor(-7.)%3 ;; t.fmod(t.tensor(-7.),3) ;; t.remainder(t.tensor(-7),3) ;; i.mean(dtype=t.float32) ;; f.sum(dtype=t.float64)
f.argmax() ;; i.type_as(f) ;; t.arange(3)/2 ;; t.arange(3,dtype=t.float16)*2.5 ;; 5-i ;; 5/i ;; 5//i ;; 5%i ;; 5**i ;; True+i
i+True ;; t.result_type(i,f) ;; t.promote_types(t.int8,t.uint8) ;; t.can_cast(t.float32,t.int32) ;; t.result_type(i,1.)
t.result_type(s,d) ;; t.finfo(t.float16).max ;; t.iinfo(t.int8).min ;; t.finfo(t.float32) ;; t.get_default_dtype() ;; bo.all()
i.any() ;; i.bincount() ;; i.unique() ;; f.histc(2) ;; t.tensor([3,1,2]).sort() ;; t.tensor([3,1,2]).argsort() ;; i.dot(i) ;; i@i
(i.view(1,2)@i.view(2,1)) ;; h@h ;; i.numpy().dtype ;; f.tolist() ;; t.tensor(1.5).item() ;; i.bool() ;; f.int() ;; f.short()
f.char() ;; f.byte() ;; f.cfloat() ;; c.real ;; c.imag ;; c.abs() ;; c.angle() ;; c.conj() ;; t.view_as_real(c)
c.resolve_conj()
"""

INDEXING = """
x[0] ;; x[-1,1] ;; x[...,0] ;; x[:,None].shape ;; x[0,1,2] ;; x[:,1:] ;; x[:, ::2].shape ;; x[i] ;; x[i,i] ;; x[i,:,i]
x[[0,1],[1,2]] ;; x[m] ;; x[m[:,:,0]] ;; x[0][x[0]>3] ;; x[None].shape ;; x[...,None].shape ;; x[True].shape ;; x[False].shape
x[t.tensor(1)] ;; x[1:1].shape ;; x[[1,0]] ;; x[:,[0,2]] ;; x[:,:,t.tensor([[0,1],[2,3]])].shape ;; x[0,...,1]
x[x.sum((1,2))>70] ;; x[np.array([0,1])] ;; x[(0,1)] ;; x[0:5].shape ;; x[-1:] ;; x[i,None].shape ;; x[i][:,i].shape
x[t.tensor(True)].shape ;; x[:,t.tensor([True,False,True])].shape ;; x[range(2)].shape ;; x[t.tensor([0,1],dtype=t.uint8)].shape
x[t.tensor([1,0],dtype=t.int32)] ;; x[::-1] ;; x[1.0] ;; x[t.tensor([1.])] ;; x[0,0,0,0] ;; x[3] ;; x[[3]] ;; x[:,5] ;; x[{}]
x[np.int64(1)] ;; x[slice(0,1)].shape ;; x[[True,False]].shape ;; x[np.array([True,False])].shape ;; x[(slice(None),1)]
x[1,[0,1],2] ;; x[[0],:,[1]].shape ;; x[0,[0,1],:,None].shape ;; x.take(i) ;; x.index_select(1,i)
x.gather(2,t.zeros(2,3,1,dtype=t.int64)).squeeze() ;; x.masked_select(m) ;; x.nonzero()[:2] ;; x.unfold(2,2,1).shape
x.narrow(1,1,2).shape ;; x.select(0,1).shape ;; x.diagonal().shape ;; x.movedim(0,-1).shape ;; x.flip(0,1)[0,0]
x.roll(1,2)[0,0] ;; x.argwhere()[:1] ;; t.take_along_dim(x,x.argsort(2),2).shape ;; x.ravel()[:3] ;; x.count_nonzero()
t.index_select(x,2,i).shape ;; x.unflatten(2,(2,2)).shape ;; x.tensor_split(2,1)[0].shape ;; x.swapaxes(0,1).shape ;; x.T.shape
x.mT.shape ;; x.adjoint().shape ;; x.H ;; x.numel() ;; x.nelement() ;; x.element_size() ;; x.itemsize ;; x.nbytes ;; x.size(-1)
x.size(dim=1) ;; x.dim() ;; x.ndim ;; x.stride() ;; x.storage_offset() ;; x.is_contiguous() ;; x.layout ;; x.device ;; x.grad_fn
x.is_sparse ;; x.is_quantized ;; x.is_complex() ;; x.is_floating_point() ;; x.untyped_storage().nbytes() ;; x.storage().size()
len(x) ;; x.shape ;; x.shape.numel() ;; tuple(x.shape) ;; x.shape[1:] ;; x.shape+(1,) ;; list(x.unbind(0))[0].shape
[v.shape for v in x] ;; x.__contains__(3) ;; 3 in x ;; x.tolist()[0][0] ;; x.__array__().shape ;; np.asarray(x).shape
x.equal(x) ;; x.data_ptr()==x[0].data_ptr() ;; hash(x)==hash(x) ;; x.get_device() ;; x.is_pinned() ;; x.is_shared()
x.has_names() ;; x.output_nr ;; x.retains_grad ;; x.ndimension() ;; x.sign_()[0,0]
"""

WRITING = """
x[0]=1 ;; x[:,1]=t.ones(3) ;; x[x>5]=0 ;; x[i]=9 ;; x[i,i]=t.tensor([1.,2.]) ;; x[...]=3 ;; x[0]=t.ones(3) ;; x[1:,None]=5
x[x>5]=t.ones(6) ;; x[i,:]=t.ones(4) ;; x[0,0]=t.tensor(7) ;; x[[0,1],[1,1]]=-1 ;; x[t.tensor([True,False,True])]=0 ;; x[0]=1j
x[0,0]=True ;; x[:]=x.flip(0) ;; x[:2]+=1 ;; x[i]+=1 ;; x[x>5]*=2 ;; x[-1,::2]=8 ;; x[3]=0 ;; x[i]=t.ones(3,4) ;; x[x>100]=1
x[0][1]=5 ;; x[i][0]=5 ;; x.T[0]=9 ;; x[0:0]=1 ;; x.index_put_((i,),t.tensor(1.),accumulate=True) ;; x.index_fill_(0,i,1.)
x.index_copy_(0,i,t.zeros(2,4)) ;; x.index_add_(0,t.tensor([0,0]),t.ones(2,4)) ;; x.scatter_(1,t.tensor([[0],[1],[2]]),5.)
x.scatter_(1,t.tensor([[0],[1],[2]]),t.ones(3,1),reduce="add") ;; x.scatter_add_(1,t.tensor([[0,0]]),t.ones(1,2))
x.masked_fill_(x>5,-1) ;; x.masked_scatter_(x>8,t.zeros(3)) ;; x.put_(i,t.tensor([7.,8.])) ;; x.fill_diagonal_(0)
x.copy_(t.ones(4)) ;; x.copy_(t.ones(3)) ;; x.t_() ;; x.swap_ ;; x.resize_(2) ;; x.unsqueeze_(0) ;; x.squeeze_() ;; x.clamp_(2,5)
x.zero_() ;; x.fill_(t.tensor(2)) ;; x.normal_(generator=t.Generator().manual_seed(0))
x.random_(5,generator=t.Generator().manual_seed(0)) ;; x.uniform_(generator=t.Generator().manual_seed(0))
x.bernoulli_(.5,generator=t.Generator().manual_seed(0)) ;; x.exponential_(generator=t.Generator().manual_seed(0))
x.cauchy_(generator=t.Generator().manual_seed(0)) ;; x.log_normal_(generator=t.Generator().manual_seed(0))
x.apply_(lambda v:v+1) ;; x.map_(x,lambda a,b:a*b) ;; x.set_(t.ones(2)) ;; x.add_(t.ones(2,3,4)) ;; x.sub_(1).mul_(2).div_(3)
x.addcmul_(x,x,value=.1) ;; x.lerp_(t.zeros(3,4),.5) ;; x.pow_(2) ;; x.erfinv_() ;; x.cumsum_(0) ;; x.tril_()
x.index_reduce_(0,i,t.ones(2,4),"prod") ;; x.scatter_reduce_(0,t.zeros(1,4,dtype=t.int64),t.ones(1,4),"amax")
x.renorm_(2,0,1.) ;; x.clamp_min_(3) ;; x.masked_fill_(x>5,t.tensor(3.)) ;; x.logical_not_() ;; x.gt_(3) ;; x.eq_(3)
x.trunc_() ;; x.copysign_(-1) ;; x.fmod_(3) ;; x.remainder_(3) ;; x.floor_divide_(2) ;; x.transpose_(0,1) ;; x.swapaxes_(0,1)
x.nan_to_num_() ;; x.sgn_() ;; x.hypot_(x) ;; x.atan2_(x) ;; x.neg_().abs_() ;; x.rsqrt_() ;; x.digamma_()
x.addmm_(t.ones(3,2),t.ones(2,4)) ;; x.rename_(None)
"""


def lines(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" ;; ")]


def promotion(t: Any) -> dict[str, Any]:
    i, f = t.tensor([1, 2]), t.tensor([1.0, 2.0])
    return {
        "t": t, "i": i, "f": f, "h": f.half(), "d": f.double(), "bo": t.tensor([True, False]), "c": t.tensor([1j, 2]),
        "b8": t.tensor([1, 2], dtype=t.uint8), "bf": f.bfloat16(), "s": t.tensor(1.0), "sd": t.tensor(1.0, dtype=t.float64),
        "si": t.tensor(5),
    }  # fmt: skip


def indexed(t: Any) -> dict[str, Any]:
    x = t.arange(24).reshape(2, 3, 4)
    return {"t": t, "x": x, "m": x > 10, "i": t.tensor([0, 1]), "np": np}


def written(t: Any) -> dict[str, Any]:
    return {"t": t, "x": t.arange(12.0).reshape(3, 4), "i": t.tensor([0, 2]), "np": np}
