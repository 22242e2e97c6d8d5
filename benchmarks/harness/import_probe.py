"""A program for `python -c`: imports one module, then prints memory, module count and installed sizes as JSON.

Arguments: the name of the distribution (or nothing) and of the module. Whatever else is needed is imported after the
memory has been read.
"""

import sys


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def installed(name: str, module: str) -> dict[str, object]:
    """Version, own size, size with all dependencies, and their number; sizes without bytecode."""
    import re
    from importlib.metadata import Distribution, PackageNotFoundError, distribution
    from pathlib import Path

    def find(*names: str) -> Distribution | None:
        for n in names:
            try:
                return distribution(n)
            except PackageNotFoundError:
                continue
        return None

    def needs(d: Distribution) -> list[str]:
        found = []
        for requirement in d.requires or ():
            head, _, marker = requirement.partition(";")
            if "extra" in marker:
                continue
            try:
                from packaging.markers import Marker

                if marker and not Marker(marker).evaluate():
                    continue
            except ImportError:
                pass
            match = re.match(r"[A-Za-z0-9._-]+", head)
            if match:
                found.append(match.group(0))
        return found

    def size(files: set[Path]) -> int:
        return sum(f.stat().st_size for f in files if f.suffix != ".pyc" and f.is_file())

    def located(d: Distribution) -> set[Path]:
        return {Path(str(f.locate())).resolve() for f in d.files or ()}

    found = find(name, name + "_cpu", name + "-cpu") if name else None
    own = located(found) if found else set()
    for folder in getattr(sys.modules.get(name), "__path__", ()):  # a source tree, or an editable install
        own |= {f.resolve() for f in Path(folder).rglob("*")}
    seen: dict[str, int] = {name: size(own)}
    todo = needs(found) if found else []
    while todo:
        d = find(todo.pop())
        key = re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower() if d else ""
        if d and key not in seen:
            seen[key] = size(located(d))
            todo += needs(d)
    version = found.version if found else str(getattr(sys.modules.get(module), "__version__", ""))
    return {"version": version, "own_b": seen[name], "closure_b": sum(seen.values()), "deps": len(seen) - 1}


def main() -> None:
    """Import the module named on the command line, and print one line of JSON."""
    name, module = sys.argv[1:]
    before = len(sys.modules)
    __import__(module)
    spec = sys.modules[module].__spec__
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named '{module}', only a folder of that name")
    result: dict[str, object] = {"modules": len(sys.modules) - before, "rss_b": peak_memory()}

    import json

    print(json.dumps({**result, **installed(name, module)}))


if __name__ == "__main__":
    main()
