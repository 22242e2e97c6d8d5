"""`torch.hub`: files of weights, kept in a folder; models of a folder that says how to make them.

    >>> from tapegrad.torch import hub
    >>> hub.load_state_dict_from_url("https://host/resnet18.pth")  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_DIR: list[str] = []
#: Where a file's name holds the beginning of its SHA-256.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def get_dir() -> str:
    """The folder of files: what `set_dir` said, or `$TORCH_HOME/hub`, or `~/.cache/torch/hub`."""
    if _DIR:
        return _DIR[0]
    home = os.getenv("TORCH_HOME") or os.path.join(os.getenv("XDG_CACHE_HOME") or "~/.cache", "torch")
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in this folder."""
    _DIR[:] = [os.path.expanduser(d)]


def download_url_to_file(url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch a file; it is put in its place once it is whole and, with `hash_prefix`, has a SHA-256 that begins so."""
    from urllib.request import Request, urlopen

    target, digest = Path(dst).expanduser(), hashlib.sha256()
    if progress:
        sys.stderr.write(f'Downloading: "{url}" to {target}\n')
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".partial", delete=False) as part:
        try:
            with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
                while piece := source.read(1 << 20):
                    part.write(piece)
                    digest.update(piece)
            part.close()
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            os.replace(part.name, target)
        finally:
            Path(part.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What `torch.load` reads from a file of the web, which is fetched if it is not in the folder yet."""
    from tapegrad.torch.serialization import load as read

    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    file = folder / name
    if not file.exists():
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, file, found[1] if found else None, progress=progress)
    return read(file, map_location=map_location, weights_only=weights_only)


def _config(repo_or_dir: str, source: str) -> Any:
    """The `hubconf` module of a folder."""
    if source != "local":
        raise NotImplementedError(
            f"torch.hub: tapegrad runs no programs from the web; fetch {repo_or_dir!r} and name its folder, with source='local'"
        )
    path = Path(repo_or_dir) / "hubconf.py"
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"torch.hub: there is no {path}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(repo_or_dir))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(repo_or_dir))
    return module


def _entry(module: Any, model: str) -> Any:
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """What the function `model` of a folder's `hubconf.py` makes of the arguments that are left."""
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    return _entry(_config(repo_or_dir, source), model)(*args, **kwargs)


def list(github: str, *_: Any, source: str = "local", **__: Any) -> Any:
    """The functions of a folder's `hubconf.py`."""
    module = _config(github, source)
    return [name for name, found in vars(module).items() if callable(found) and name[:1] != "_"]


def help(github: str, model: str, *_: Any, source: str = "local", **__: Any) -> Any:
    """What a function of a folder's `hubconf.py` says of itself."""
    return _entry(_config(github, source), model).__doc__
