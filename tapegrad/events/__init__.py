"""Event files, which TensorBoard reads: what the summaries of both facades write.

`wire` is the format of protocol buffers and of records, `png` makes pictures of pixels, and `EventFile` is a file of events.
"""

from tapegrad.events.file import EventFile

__all__ = ["EventFile"]
