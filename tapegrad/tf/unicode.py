"""`tf.strings`: bytes as characters, and characters as bytes."""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np

from tapegrad.tf.convert import fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.ragged_tensor import RaggedTensor, in_rows
from tapegrad.tf.tensor import Tensor, made
from tapegrad.tf.texts import texts

#: What TensorFlow writes.
_WRITTEN = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
_POLICIES = ("strict", "replace", "ignore")
_MARKS = {"utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)}


def _policy(errors: str, replacement_char: Any) -> str:
    """What stands for a character that is none: nothing, or the replacement; checked."""
    if errors not in _POLICIES:
        raise invalid(None, f'Value for attr \'errors\' of "{errors}" is not in the list of allowed values: "strict", "replace", "ignore"')
    code = int(replacement_char)
    if not _is_character(code):
        raise invalid(None, f"replacement_char out of unicode codepoint range: {code}")
    return "" if errors == "ignore" else chr(code)


def _is_character(code: int) -> bool:
    return 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000


def _characters(data: bytes, encoding: str, errors: str, instead: str, control: bool) -> list[tuple[str, int]]:
    """The characters of some bytes, and where each begins.  Raises InvalidArgumentError for bytes that are none, if strict."""
    name = encoding.lower()
    if name in _MARKS:  # a mark of the order is no character; without one the first byte is the highest
        big, little = _MARKS[name]
        order = "-le" if data.startswith(little) else "-be"
        start = len(big) if data.startswith((big, little)) else 0
    else:
        order, start = "", 0
    try:
        decoder = codecs.getincrementaldecoder(name + order)()
    except LookupError:
        raise invalid(None, f"Could not create converter for input encoding: {encoding}") from None
    found: list[tuple[str, int]] = []
    begin = k = start
    while k < len(data):
        try:
            text = decoder.decode(data[k : k + 1], final=k + 1 == len(data))
        except UnicodeDecodeError as error:
            if errors == "strict":
                raise invalid(None, f"Invalid formatting on input string: {data!r}") from None
            found.append((instead, begin))
            decoder.reset()
            k = begin = begin + max(error.end, 1)  # what was wrong is left out, and the rest is read anew
            continue
        k += 1
        if text:
            found.append((instead if control and ord(text[0]) < 32 else text, begin))
            begin = k
    return [(c, at) for c, at in found if c]


def _each_text(x: Any, parts_of: Any) -> tuple[Any, tuple[int, ...], list[int]]:
    """The parts of all texts in one list, the shape in which the texts stood, and how many parts each has."""
    raw = texts(x)
    parts = [parts_of(text) for text in raw.reshape(-1).tolist()]
    return [p for found in parts for p in found], raw.shape, [len(found) for found in parts]


def _encoded(codes: Any, encoding: str, errors: str, instead: str) -> bytes:
    kept = []
    for code in codes:
        if _is_character(code):
            kept.append(chr(code))
        elif errors == "strict":
            raise invalid(None, f"Code point is out of range for Unicode, or a noncharacter: {code}")
        else:
            kept.append(instead)
    return "".join(kept).encode(encoding)


def _written(output_encoding: str) -> str:
    if output_encoding not in _WRITTEN:
        allowed = ", ".join(f'"{e}"' for e in _WRITTEN)
        raise invalid(None, f"Value for attr 'output_encoding' of \"{output_encoding}\" is not in the list of allowed values: {allowed}")
    return output_encoding


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: Any = 65533, name: str | None = None
) -> Tensor:
    """Strings of characters by their numbers: the last axis is one string."""
    to, instead = _written(output_encoding), _policy(errors, replacement_char)
    if isinstance(input, RaggedTensor) and not isinstance(input.values, RaggedTensor):
        texts = np.empty(len(input), object)
        texts[:] = [_encoded(row, to, errors, instead) for row in input.to_list()]
        return made(texts)
    codes = host(input)
    if not codes.ndim:
        raise ValueError("unicode_encode: input_tensor's rank must be at least 1")
    found = np.empty(codes.shape[:-1], object)
    for place in np.ndindex(found.shape):
        found[place] = _encoded(codes[place].tolist(), to, errors, instead)
    return made(found)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: Any = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The numbers of the characters of a string; of several strings as rows of a ragged tensor."""
    return unicode_decode_with_offsets(input, input_encoding, errors, replacement_char, replace_control_characters)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: Any = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The numbers of the characters of a string, or of several, and at which byte each begins."""
    instead = _policy(errors, replacement_char)
    parts, shape, sizes = _each_text(
        input, lambda text: _characters(text, input_encoding, errors, instead, replace_control_characters)
    )
    codes, starts = np.array([ord(c) for c, _ in parts], np.int32), np.array([at for _, at in parts], np.int64)
    return in_rows(fresh(codes), shape, sizes), in_rows(fresh(starts), shape, sizes)


def unicode_split(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: Any = 0xFFFD, name: str | None = None
) -> Any:
    """The characters of a string, each a string; of several strings as rows of a ragged tensor."""
    return unicode_split_with_offsets(input, input_encoding, errors, replacement_char)[0]


def unicode_split_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: Any = 0xFFFD, name: str | None = None
) -> tuple[Any, Any]:
    """The characters of a string, or of several, each a string, and at which byte each begins."""
    instead = _policy(errors, replacement_char)
    parts, shape, sizes = _each_text(input, lambda text: _characters(text, input_encoding, errors, instead, False))
    found = np.empty(len(parts), object)
    found[:] = [c.encode(input_encoding) for c, _ in parts]
    return in_rows(made(found), shape, sizes), in_rows(fresh(np.array([at for _, at in parts], np.int64)), shape, sizes)


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: Any = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Strings in another encoding; bytes that are no characters are replaced, left out, or raise.

    >>> import tapegrad.tf as tf
    >>> tf.strings.unicode_transcode(b"a\\xffb", "UTF-8", "UTF-8", replacement_char=63).numpy()
    b'a?b'
    """
    raw, to, instead = texts(input), _written(output_encoding), _policy(errors, replacement_char)
    found = np.empty(raw.shape, object)
    for place in np.ndindex(raw.shape):
        parts = _characters(raw[place], input_encoding, errors, instead, replace_control_characters)
        found[place] = "".join(c for c, _ in parts).encode(to)
    return made(found)
