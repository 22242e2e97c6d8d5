"""NumPy's warnings of sqrt(-1), log(0) or an overflow, which users of the facades do not expect: their frameworks are silent."""

from __future__ import annotations

import warnings


def silence() -> None:
    """Ignore such warnings where code of tapegrad computes, from now on; those of anybody else's code stay as they are."""
    warnings.filterwarnings("ignore", r".* encountered in ", RuntimeWarning, r"tapegrad\.")
