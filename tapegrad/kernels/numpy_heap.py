"""Keeps freed memory in the process, where the next array of the size finds it; by import.

glibc hands arrays above 128 KB back to the system as they are freed, and the next ones get new pages, zeroed one by one;
until a larger block has been freed once: then it keeps what is smaller (mallopt(3), M_MMAP_THRESHOLD).  So one of the
largest size that counts, 32 MB, never touched, is freed here.  Measured: batch norm on 256x512 takes 0.8 ms, else 3.0.

And it hands back what is free at the end of its heap above twice that size, as it is after each step on 4 million elements;
here up to 256 MB are kept (M_TRIM_THRESHOLD).  Measured: ten ops on 4M elements take 52 ms, else up to 68.
"""

import contextlib
import ctypes

import numpy as np

M_TRIM_THRESHOLD = -1

np.empty((32 << 20) - (1 << 13), np.uint8)
with contextlib.suppress(OSError, AttributeError, TypeError):  # other C libraries, and systems where none has a name
    ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 256 << 20)
