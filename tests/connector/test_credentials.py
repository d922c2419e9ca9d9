"""Credentials: where they may come from, what goes together, and that a password stays unseen."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sciret.connector import credentials
from sciret.connector.credentials import Credentials
from sciret.errors import SettingsError
from sciret.settings import Settings

SECRET = Settings(opensearch_user="me", opensearch_password="hunter2")  # noqa: S106  # of nobody


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_in_particular() -> None:
    assert Credentials.of(Settings()) == Credentials()
    assert Credentials().authentication() is None


def test_user_and_password_of_the_settings() -> None:
    who = Credentials.of(SECRET)
    assert who.authentication() == ("me", "hunter2")
    assert "hunter2" not in repr(who)


def test_a_password_in_a_file(tmp_path: Path) -> None:
    """As an editor or a secret's mount leaves it: one line break at the end is no part of it, blanks are."""
    secret = tmp_path / "secret"
    secret.write_text(" hunter2 \r\n", encoding="utf-8")
    who = Credentials.of(Settings(opensearch_user="me", opensearch_password_file=str(secret)))
    assert who.password == " hunter2 "  # noqa: S105


def test_a_password_is_asked_for_where_somebody_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(credentials, "getpass", lambda prompt, **_: f"typed at {prompt}")
    assert Credentials.of(Settings(opensearch_user="me")).password == "typed at Password of me: "  # noqa: S105


def test_elsewhere_a_missing_password_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SettingsError, match="no password for the user 'me': set SCIRET_OPENSEARCH_PASSWORD"):
        Credentials.of(Settings(opensearch_user="me"))


def test_certificates_are_files_that_are_there(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    settings = Settings(
        opensearch_ca=str(tmp_path / "ca"), opensearch_cert=str(tmp_path / "cert"), opensearch_key=str(tmp_path / "key")
    )
    who = Credentials.of(settings)
    assert (who.ca, who.certificate, who.key) == (tmp_path / "ca", tmp_path / "cert", tmp_path / "key")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (replace(SECRET, opensearch_user=""), "no user: set SCIRET_OPENSEARCH_USER"),
        (
            replace(SECRET, opensearch_password="", opensearch_password_file="nowhere"),  # noqa: S106
            "PASSWORD_FILE nowhere: it cannot be read",
        ),
        (Settings(opensearch_ca="/nowhere.pem"), "SCIRET_OPENSEARCH_CA: there is no file /nowhere.pem"),
        (Settings(opensearch_key=__file__), "set SCIRET_OPENSEARCH_CERT too"),
        (replace(SECRET, opensearch_aws="eu-west-1"), "two ways"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: Settings, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        Credentials.of(settings)
    assert "hunter2" not in str(caught.value)


def test_without_keys_of_aws_nothing_can_be_signed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(SettingsError, match="`aws configure` sets them"):
        Credentials(aws_region="eu-west-1").authentication()
