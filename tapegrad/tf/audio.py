"""`tf.audio`: sounds of 16 bits in WAV files."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export

_SCALE = 32768.0


class DecodeWav(NamedTuple):
    """Samples ``(length, channels)`` from -1 to 1, and how many there are in a second."""

    audio: Any
    sample_rate: Any


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """The parts of a file by their names."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        found = data[:4] if data[:4] != b"RIFF" else data[8:12]
        raise invalid("DecodeWav", f"Header mismatch: Expected {'RIFF' if data[:4] != b'RIFF' else 'WAVE'} but found {found!r}")
    parts, at = {}, 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        parts[name] = data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    return parts


@export("audio.decode_wav")
def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> DecodeWav:
    """The samples of a WAV file; channels and samples that are missing are the last channel's, and silence."""
    raw = host(contents)
    if raw.ndim:
        raise invalid("DecodeWav", f"contents must be scalar but got shape {list(raw.shape)}")
    parts = _chunks(raw.item())
    if b"fmt " not in parts or b"data" not in parts:
        raise invalid("DecodeWav", "Bad file: there is no chunk 'fmt ' or none 'data' in it")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", parts[b"fmt "])
    if kind not in (1, 0xFFFE) or bits != 16:
        raise invalid("DecodeWav", f"Can only read 16-bit WAV files of PCM, got a format {kind} of {bits} bits")
    samples = np.frombuffer(parts[b"data"][: len(parts[b"data"]) // (2 * channels) * 2 * channels], "<i2").reshape(-1, channels)
    if desired_channels > 0:
        samples = samples[:, np.minimum(np.arange(desired_channels), channels - 1)]
    if desired_samples > 0:
        samples = samples[:desired_samples]
        samples = np.pad(samples, ((0, desired_samples - len(samples)), (0, 0)))
    return DecodeWav(fresh((samples / _SCALE).astype(np.float32)), fresh(np.asarray(rate, np.int32)))


@export("audio.encode_wav")
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """The bytes of a WAV file of samples ``(length, channels)`` from -1 to 1, which are cut off beyond."""
    samples, rate = host(audio), int(host(sample_rate))
    if samples.ndim != 2:
        raise invalid("EncodeWav", f"audio must be 2-dimensional but got shape {list(samples.shape)}")
    scaled = samples.astype(np.float64) * _SCALE
    whole = np.clip(np.sign(scaled) * np.floor(np.abs(scaled) + 0.5), -_SCALE, _SCALE - 1)  # halves away from 0
    data = whole.astype("<i2").tobytes()
    channels = samples.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return convert(b"RIFF" + struct.pack("<I", len(body)) + body)
