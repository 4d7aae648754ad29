"""Download a file: resumed after a broken connection, checked, and renamed when it is complete."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import bankgcn
from bankgcn.files.checked import FileError, atomic_write

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if the server says

CHUNK = 1 << 16
MAX_BYTES = 8 << 30
TRANSIENT = {408, 425, 429}  # and all of 5xx: errors of the server that may be temporary


class FetchError(ValueError):
    """A download that could not be completed."""


class _Retry(Exception):
    """An error after which another attempt may succeed."""


@dataclass
class _Partial:
    """The bytes received so far, and the server's ETag of the version they belong to."""

    stream: BinaryIO
    version: str | None = None

    @property
    def size(self) -> int:
        return self.stream.tell()

    def restart(self) -> None:
        self.stream.seek(0)
        self.stream.truncate()


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    check: Callable[[Path], object] | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
    attempts: int = 4,
    wait: float = 1.0,
) -> Path:
    """Download ``url`` to ``target``, unless it is there already.

    The file gets its name when it is complete; a failed download leaves nothing behind. Certificates are checked.
    After a broken connection the download resumes, if the server supports it.

    Args:
        url: An ``https`` or ``http`` address.
        target: The file to write. Missing folders are created.
        sha256: The checksum that the file must have, in hexadecimal, if known.
        check: Called with the complete file before it is renamed; a ``FileError`` refuses the file, for example a
            login page instead of a zip.
        progress: Called with the number of bytes so far and in all.
        timeout: Seconds without data after which an attempt fails.
        attempts: Number of attempts.
        wait: Seconds to wait before the second attempt, doubled before each further one.

    Raises:
        FetchError: The download failed; the message says why, and where to put a copy by hand.
    """
    if not url.startswith(("https://", "http://")):
        raise FetchError(f"{url!r} is not an https or http address")
    if target.exists():
        if sha256 is not None and _sha256(target) != sha256:
            raise FetchError(f"{target} is there already, but is not the official file; move it away to download that")
        return target
    by_hand = f"to use a copy from elsewhere, put it at {target} and try again"
    try:
        with atomic_write(target) as stream:
            _try_repeatedly(url, _Partial(stream), sha256, progress, timeout, attempts, wait)
            stream.flush()
            if check is not None:
                check(Path(stream.name))
    except FileError as error:
        raise FetchError(f"cannot download {url}: what came is no such file: {error.message}; {by_hand}") from error
    except FetchError as error:
        raise FetchError(f"cannot download {url}: {error}; {by_hand}") from error
    except OSError as error:
        raise FetchError(f"cannot write {target}: {error.strerror}") from error
    return target


def _try_repeatedly(
    url: str,
    partial: _Partial,
    sha256: str | None,
    progress: Progress | None,
    timeout: float,
    attempts: int,
    wait: float,
) -> None:
    for attempt in range(attempts):
        if attempt:
            time.sleep(wait * 2 ** (attempt - 1))
        try:
            _download(url, partial, progress, timeout)
            _check(partial, sha256)
            return
        except _Retry as fault:
            reason = str(fault)
    raise FetchError(f"{reason} ({attempts} attempts)")


def _download(url: str, partial: _Partial, progress: Progress | None, timeout: float) -> None:
    """One attempt: download the rest of the file, or all of it."""
    try:
        with urllib.request.urlopen(_request(url, partial), timeout=timeout) as response:
            if url.startswith("https://") and not response.url.startswith("https://"):
                raise FetchError(f"it leads to {response.url}, which is not protected by a certificate")
            _receive(response, partial, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # range not satisfiable: the bytes received belong to another file
            partial.restart()
        elif error.code < 500 and error.code not in TRANSIENT:
            raise FetchError(f"the server answers {error.code} {error.reason}") from error
        raise _Retry(f"the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise FetchError(f"its certificate is not valid: {error.reason.verify_message}") from error
        if isinstance(error.reason, socket.gaierror):
            raise FetchError("no such server, or no network") from error
        raise _Retry(f"no connection: {error.reason}") from error
    except TimeoutError as error:
        raise _Retry(f"nothing came for {timeout:g} seconds") from error
    except (http.client.HTTPException, ConnectionError, ssl.SSLError) as error:
        raise _Retry(f"the connection broke: {error or type(error).__name__}") from error


def _request(url: str, partial: _Partial) -> urllib.request.Request:
    headers = {"User-Agent": f"bankgcn/{bankgcn.__version__}", "Accept-Encoding": "identity"}
    if partial.size and partial.version:
        headers |= {"Range": f"bytes={partial.size}-", "If-Range": partial.version}
    return urllib.request.Request(url, headers=headers)


def _receive(response: http.client.HTTPResponse, partial: _Partial, progress: Progress | None) -> None:
    resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {partial.size}-")
    if not resumed:
        partial.restart()
    partial.version = _strong_version(response)
    length = response.headers.get("Content-Length", "")
    total = partial.size + int(length) if length.isdecimal() else None
    if max(partial.size, total or 0) > MAX_BYTES:
        raise FetchError(f"it has {total:,} bytes, more than the limit of {MAX_BYTES:,}")
    while chunk := response.read(CHUNK):
        partial.stream.write(chunk)
        if partial.size > MAX_BYTES:
            raise FetchError(f"it has more than the limit of {MAX_BYTES:,} bytes")
        if progress is not None:
            progress(partial.size, total)
    if total is not None and partial.size < total:
        raise _Retry(f"the connection broke after {partial.size:,} of {total:,} bytes")


def _strong_version(response: http.client.HTTPResponse) -> str | None:
    """The strong ETag, by which a server promises identical bytes; a weak one does not."""
    mark = response.headers.get("ETag", "")
    return mark if mark.startswith('"') else None


def _check(partial: _Partial, sha256: str | None) -> None:
    if not partial.size:
        raise _Retry("the server sent an empty file")
    if sha256 is None:
        return
    partial.stream.flush()
    checksum = _sha256(Path(partial.stream.name))
    if checksum != sha256:
        partial.restart()
        raise _Retry(f"its SHA-256 is {checksum}, expected {sha256}")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
