"""Tokens, and addresses that need one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.files.checked import FileError
from bankgcn.serve.access import Access, Limits, RequestError, check_address, is_loopback, read_token
from refusals import refused

TOKEN = "0123456789abcdef"


def test_a_token_comes_from_a_file_or_else_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BANKGCN_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("BANKGCN_TOKEN", TOKEN)
    assert read_token(None) == TOKEN
    (tmp_path / "token").write_text(f"{TOKEN[::-1]}\n")
    assert read_token(tmp_path / "token") == TOKEN[::-1]


@pytest.mark.parametrize("token", ["", "short", "with blanks between words", "ä" * 20])
def test_a_token_that_is_no_secret_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    with pytest.raises(ValueError, match="must have at least 16 printable ASCII characters") as error:
        read_token(tmp_path / "token")
    assert not token or token not in str(error.value)
    monkeypatch.setenv("BANKGCN_TOKEN", token)
    with refused(ValueError, "$BANKGCN_TOKEN"):
        read_token(None)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with refused(FileError, at="nowhere", cause=FileNotFoundError):
        read_token(tmp_path / "nowhere")


def test_other_machines_need_a_token_or_a_permission() -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        assert is_loopback(host)
        check_address(host, None, allow_anyone=False)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with refused(ValueError, host=host, token_file="FILE"):
            check_address(host, None, allow_anyone=False)
        check_address(host, TOKEN, allow_anyone=False)
        check_address(host, None, allow_anyone=True)


def test_the_whole_token_is_compared_and_the_scheme_in_any_case() -> None:
    access = Access(TOKEN)
    for header in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN}", f" \tBearer {TOKEN} \t"):
        access.check(header)
    for header in (
        None,
        "",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer{TOKEN}",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN} x",
        f"Bearer {TOKEN.upper()}",
        "Bearer",
        "Bearer \u20ac",
    ):
        with pytest.raises(RequestError) as error:
            access.check(header)
        assert error.value.status == 401
    Access(None).check(None)


def test_limits_are_above_zero() -> None:
    with refused(ValueError, nodes=0):
        Limits(nodes=0)
