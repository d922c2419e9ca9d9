"""Settings: options > environment > sciret.toml > defaults, and mistakes named by their place."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import SettingsError
from sciret.settings import Settings, load_settings

NAMES = {f.name.rstrip("_"): type(f.default) for f in fields(Settings)}
"""Every setting as users write it, and its type."""
VALUES: dict[type, tuple[Any, Any, Any]] = {
    str: ("a", "b", "c"),
    int: (11, 12, 13),
    float: (0.125, 0.25, 0.375),
    type(None): (0.125, 0.25, 0.375),  # a number that need not be given
    bool: (True, False, True),
}


def toml(folder: Path, content: str) -> Path:
    (folder / "sciret.toml").write_text(content, encoding="utf-8")
    return folder


def test_defaults_where_nothing_is_given(tmp_path: Path) -> None:
    assert load_settings({}, {}, tmp_path) == Settings()
    assert load_settings(None, {}, tmp_path).store == "sciret.db"


@pytest.mark.parametrize("name", NAMES)
def test_each_layer_wins_over_the_one_below(tmp_path: Path, name: str) -> None:
    """For every setting, and each keeps its type."""
    low, middle, high = VALUES[NAMES[name]]
    attribute, variable = "lambda_" if name == "lambda" else name, f"SCIRET_{name.upper()}"
    toml(tmp_path, f"{name} = {json.dumps(low)}")
    assert getattr(load_settings({}, {}, tmp_path), attribute) == low
    from_environment = getattr(load_settings({}, {variable: str(middle)}, tmp_path), attribute)
    assert (from_environment, type(from_environment)) == (middle, type(low))
    assert getattr(load_settings({attribute: high}, {variable: str(middle)}, tmp_path), attribute) == high


def test_layers_are_joined_setting_by_setting(tmp_path: Path) -> None:
    """What one layer leaves open the next below fills; an option of None was not given, nor an empty variable."""
    toml(tmp_path, 'store = "file.db"\nk = 3\nsparse = "tfidf"')
    settings = load_settings({"k": 7, "store": None}, {"SCIRET_SPARSE": "none", "SCIRET_STORE": ""}, tmp_path)
    assert (settings.k, settings.store, settings.sparse, settings.rerank) == (7, "file.db", "none", Settings().rerank)


def test_an_option_of_zero_is_given(tmp_path: Path) -> None:
    assert load_settings({"lambda_": 0.0}, {"SCIRET_LAMBDA": "0.5"}, tmp_path).lambda_ == 0.0


def test_the_process_and_its_folder_are_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(f"SCIRET_{name.upper()}", raising=False)
    monkeypatch.chdir(toml(tmp_path, "k = 3\ncandidates = 40"))
    monkeypatch.setenv("SCIRET_K", "4")
    assert load_settings() == Settings(k=4, candidates=40)


def test_a_dash_is_as_good_as_an_underscore(tmp_path: Path) -> None:
    """In the file, as in the options' names; and a whole number is a number."""
    assert load_settings({}, {}, toml(tmp_path, "rerank-weight = 1\nlambda = 0")) == Settings(
        rerank_weight=1.0, lambda_=0.0
    )


@pytest.mark.parametrize("name", ["lamda", "Store", "search", "lambda__"])
def test_an_unknown_name_in_the_file_is_an_error(tmp_path: Path, name: str) -> None:
    """It names the file and the settings there are."""
    with pytest.raises(SettingsError) as caught:
        load_settings({}, {}, toml(tmp_path, f"{name} = 1"))
    assert str(caught.value).startswith(f"sciret.toml: there is no setting {name!r}; there are store, ")
    assert ", lambda, " in str(caught.value)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("k = 2.5", "int"),
        ("k = true", "int"),
        ("k = 'many'", "int"),
        ("k = [1]", "int"),
        ("lambda = 'most'", "float"),
        ("lambda = false", "float"),
        ("lambda = {}", "float"),
        ("lambda = 2020-01-01", "float"),
        ("store = true", "str"),
        ("store = 5", "str"),
        ("store = ['a.db']", "str"),
        ("[store]\npath = 'a.db'", "str"),
    ],
)
def test_a_wrong_type_in_the_file_is_an_error(tmp_path: Path, line: str, kind: str) -> None:
    name = line.strip("[").split("]")[0].split()[0]
    with pytest.raises(SettingsError, match=rf"^sciret\.toml: {name} must be of type {kind}, not "):
        load_settings({}, {}, toml(tmp_path, line))


@pytest.mark.parametrize(("variable", "value"), [("SCIRET_K", "ten"), ("SCIRET_K", "1.5"), ("SCIRET_LAMBDA", "0,8")])
def test_a_wrong_type_in_the_environment_is_an_error(tmp_path: Path, variable: str, value: str) -> None:
    """It names the variable."""
    with pytest.raises(SettingsError, match=rf"^{variable}: .* must be of type .*, not '{value}'"):
        load_settings({}, {variable: value}, tmp_path)


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_a_switch_of_the_environment_may_be_said_in_words(tmp_path: Path, word: str) -> None:
    assert load_settings({}, {"SCIRET_EXACT": word}, tmp_path).exact
    assert not load_settings({}, {"SCIRET_EXACT": "off"}, toml(tmp_path, "exact = true")).exact


@pytest.mark.parametrize("line", ["exact = 1", "exact = 'maybe'", "exact = []"])
def test_a_switch_is_true_or_false(tmp_path: Path, line: str) -> None:
    with pytest.raises(SettingsError, match=r"^sciret\.toml: exact must be true or false"):
        load_settings({}, {}, toml(tmp_path, line))


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    """Neither in what is printed of the settings nor in the message about a mistake."""
    settings = load_settings({}, {"SCIRET_OPENSEARCH_PASSWORD": "hunter2"}, tmp_path)
    assert settings.opensearch_password == "hunter2"  # noqa: S105
    assert "hunter2" not in repr(settings)
    with pytest.raises(SettingsError) as caught:
        load_settings({}, {}, toml(tmp_path, "opensearch-password = 4711"))
    assert "4711" not in str(caught.value)


def test_a_file_that_is_no_toml_is_an_error(tmp_path: Path) -> None:
    """With the line, as the parser has it."""
    with pytest.raises(SettingsError, match=r"^sciret\.toml: .*line 2"):
        load_settings({}, {}, toml(tmp_path, "k = 3\nstore sciret.db\n"))


def test_a_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sciret.toml").write_bytes('store = "caf\xe9.db"'.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"^sciret\.toml: .*utf-8"):
        load_settings({}, {}, tmp_path)
