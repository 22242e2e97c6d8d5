"""Special functions."""

from tapegrad.elsewhere import absent as _absent
from tapegrad.ops import bessel as _bessel
from tapegrad.ops import entropies as _entropies
from tapegrad.ops import functions as _functions
from tapegrad.ops import incomplete as _incomplete
from tapegrad.ops import nn_activation as _activation
from tapegrad.ops import softmax as _softmax
from tapegrad.ops import special as _ops
from tapegrad.registry.public import at_home as _at_home

bessel_i = _ops.bessel_i.entry
bessel_j = _bessel.bessel_j.entry
bessel_k = _bessel.bessel_k.entry
bessel_y = _bessel.bessel_y.entry
beta = _ops.beta.entry
betainc = _incomplete.betainc.entry
betaln = _ops.betaln.entry
cbrt = _functions.cbrt.entry
dawsn = _bessel.dawsn.entry
digamma = _ops.digamma.entry
entr = _entropies.entr.entry
erf = _ops.erf.entry
erfc = _ops.erfc.entry
erfcinv = _ops.erfcinv.entry
erfcx = _ops.erfcx.entry
erfinv = _ops.erfinv.entry
expi = _bessel.expi.entry
expit = _functions.expit.entry
fresnel_cos = _bessel.fresnel_cos.entry
fresnel_sin = _bessel.fresnel_sin.entry
gamma = _ops.gamma.entry
gammainc = _incomplete.gammainc.entry
gammaincc = _incomplete.gammaincc.entry
gammaln = _ops.gammaln.entry
i0 = _ops.i0.entry
i0e = _ops.i0e.entry
i1 = _ops.i1.entry
i1e = _ops.i1e.entry
kl_div = _entropies.kl_div.entry
log_ndtr = _ops.log_ndtr.entry
log_sigmoid = _activation.logsigmoid.entry
log_softmax = _softmax.log_softmax.entry
logit = _ops.logit.entry
logsumexp = _softmax.logsumexp.entry
multigammaln = _ops.multigammaln.entry
ndtr = _ops.ndtr.entry
ndtri = _ops.ndtri.entry
polygamma = _ops.polygamma.entry
rel_entr = _entropies.rel_entr.entry
scaled_bessel_k = _bessel.scaled_bessel_k.entry
sinc = _ops.sinc.entry
softmax = _softmax.softmax.entry
spence = _bessel.spence.entry
xlog1py = _entropies.xlog1py.entry
xlogy = _entropies.xlogy.entry
zeta = _ops.zeta.entry

__all__ = [
    "bessel_i",
    "bessel_j",
    "bessel_k",
    "bessel_y",
    "beta",
    "betainc",
    "betaln",
    "cbrt",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expi",
    "expit",
    "fresnel_cos",
    "fresnel_sin",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "scaled_bessel_k",
    "sinc",
    "softmax",
    "spence",
    "xlog1py",
    "xlogy",
    "zeta",
]

_at_home(__name__, globals())
__getattr__ = _absent(__name__)
__dir__ = __all__.copy
