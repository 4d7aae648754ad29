"""The on-disk cache of compiled code; its files are named by a digest of all kernel sources."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar

from numba.core.caching import CompileResultCacheImpl, FunctionCache


class KernelCache(FunctionCache):
    """numba's cache of one compiled function, with two differences.

    A compiled function contains the functions that it calls from other files, but numba checks the caller's file
    alone. Therefore the names of the cache files contain a digest of all sources. And if the disk is full or a file
    is not accessible, the function is still compiled and used; one warning per process names the folder.
    """

    class _NamedByDigest(CompileResultCacheImpl):
        def get_filename_base(self, fullname: str, abiflags: str) -> str:
            return f"{super().get_filename_base(fullname, abiflags)}-{sources_digest()}"

    _impl_class = _NamedByDigest
    warned: ClassVar[bool] = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these argument types, or ``None``."""
        with self._without_disk_errors("read"):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function, and remove the files of older sources."""
        with self._without_disk_errors("save"):
            self._remove_outdated()
            super().save_overload(sig, data)

    def _remove_outdated(self) -> None:
        function, _, _ = self._impl.filename_base.partition("-")
        for path in Path(self.cache_path).glob(f"{function}-*.nb[ci]"):
            if sources_digest() not in path.name:
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _without_disk_errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not KernelCache.warned:
                KernelCache.warned = True
                logging.getLogger("bankgcn").warning(
                    "cannot %s compiled code in %s (%s), so every process compiles it again; "
                    "free some disk space, or set NUMBA_CACHE_DIR to another folder",
                    action,
                    self.cache_path,
                    error.strerror or error,
                )


@cache
def sources_digest() -> str:
    """A digest of all kernel sources, computed once per process."""
    return digest_of(resources.files("bankgcn.kernels"))


def digest_of(folder: Traversable) -> str:
    """A digest of the names and contents of all Python files in a folder and its subfolders."""
    digest = hashlib.sha256()
    for name, content in _python_files(folder, ""):
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8))
            digest.update(part)
    return digest.hexdigest()[:16]


def _python_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _python_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield prefix + entry.name, entry.read_bytes()
