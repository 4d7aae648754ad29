"""Who may use the service: clients on the same machine, or those that have a token."""

from __future__ import annotations

import hmac
import ipaddress
import os
from pathlib import Path

from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option
from bankgcn.serve.errors import RequestError

TOKEN_VARIABLE = "BANKGCN_TOKEN"
BLANKS = " \t"  # around the value of a header
SHORTEST = 16  # characters of a token


def read_token(path: Path | None) -> str | None:
    """The token in a file, or else in the environment variable ``BANKGCN_TOKEN``; ``None`` without both.

    Raises:
        ValueError: The token is too short to be a secret, or has blanks or letters that a header cannot hold.
    """
    if path is None and TOKEN_VARIABLE not in os.environ:
        return None
    if path is None:
        token, where = os.environ[TOKEN_VARIABLE].strip(), f"${TOKEN_VARIABLE}"
    else:
        try:
            token, where = path.read_text(encoding="utf-8").strip(), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot be read as a token: {error}", path) from error
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(
            f"the token in {where} must have at least {SHORTEST} printable ASCII characters and no blanks; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one"
        )
    return token


def check_address(host: str, token: str | None, allow_anyone: bool) -> None:
    """Raise if the service would be open to other machines without a token."""
    if token is None and not allow_anyone and not is_loopback(host):
        raise ValueError(
            Message(
                "{host} lets other machines in: give a token ({file}, or ${variable}), or allow everyone by {anyone}",
                host=Option("host", host),
                file=Option("token_file", "FILE"),
                variable=TOKEN_VARIABLE,
                anyone=Option("allow_anyone", True),
            )
        )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from the same machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Access:
    """Compares the token of a request with that of the service, in constant time.

    Args:
        token: The token; ``None`` lets every request in.
    """

    def __init__(self, token: str | None):
        self._expected = None if token is None else token.encode()

    @property
    def needs_token(self) -> bool:
        """Whether requests need a token."""
        return self._expected is not None

    def check(self, authorization: str | None) -> None:
        """Raise :class:`RequestError` unless the header ``Authorization`` has the token; ``bearer`` in any case."""
        if self._expected is None:
            return
        scheme, _, given = (authorization or "").strip(BLANKS).partition(" ")
        right = hmac.compare_digest(given.strip(BLANKS).encode("latin-1", "replace"), self._expected)
        if not right or scheme.lower() != "bearer":
            raise RequestError(
                401,
                "the token is missing or wrong: send 'Authorization: Bearer TOKEN'",
                headers={"www-authenticate": "Bearer"},
            )
