"""`sciret index` on a real server, as somebody uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sciret.connector.local_node import fetch

from ..encoders.tiny_bundle import tiny_bundle

CORPUS = Path(__file__).parents[2] / "examples" / "corpus.jsonl"
Sciret = Callable[..., Result]
QUERY = ("search", "sleep and memory", "--json")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("bundles")
    return tiny_bundle(folder / "old", seed=1, dims=64), tiny_bundle(folder / "new", seed=2, dims=64)


@pytest.fixture
def url(opensearch: Any, unique_name: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that is not there yet; commands find it in the environment."""
    address = f"{opensearch.url}/{unique_name()}"
    monkeypatch.setenv("SCIRET_STORE", address)
    monkeypatch.setenv("SCIRET_INGEST_EVENTS", "0")
    return address


@pytest.fixture
def filled(url: str, sciret: Sciret, bundles: tuple[str, str]) -> str:
    done(sciret("index", "create", "--replicas", "0"))
    done(sciret("ingest", CORPUS, "--model", bundles[0]))
    return url


def done(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def versions(sciret: Sciret) -> dict[str, tuple[str, int, str]]:
    """Number of a version to its role, papers and whether it takes writes."""
    shown = json.loads(done(sciret("index", "status", "--json")).stdout)["versions"]
    return {each["index"][-1]: (each["role"], each["papers"], each["writes"]) for each in shown}


def test_create_makes_templates_an_index_and_its_alias(url: str, sciret: Sciret, bundles: tuple[str, str]) -> None:
    layout = ("--shards", "2", "--replicas", "0", "--m", "24", "--no-sentences")
    assert "is made" in done(sciret("index", "create", *layout)).stdout
    (version,) = json.loads(done(sciret("index", "status", "--json")).stdout)["versions"]
    assert (version["role"], version["papers"], version["health"]) == ("live", 0, "green")
    kept = {"shards": 2, "replicas": 0, "m": 24, "sentences": False, "engine": "lucene"}
    assert version["layout"].items() >= kept.items()
    done(sciret("ingest", CORPUS, "--model", bundles[0]))
    assert len(json.loads(done(sciret(*QUERY, "--model", bundles[0])).stdout)["hits"]) == 10
    again = sciret("index", "create")
    assert again.exit_code == 1
    assert "sciret index migrate" in again.stderr


def test_a_file_has_no_versions(sciret: Sciret) -> None:
    result = sciret("index", "status", "--store", "papers.db")
    assert result.exit_code == 2
    assert "https://host:9200/papers" in result.stderr


def test_another_model_and_back(filled: str, sciret: Sciret, bundles: tuple[str, str]) -> None:
    """Searches with the old model are refused after the swap; one that names both models always answers."""
    old, new = bundles
    model = ("--model", new, "--old-model", old, "--min-overlap", "0")
    outcome = json.loads(done(sciret("index", "migrate", *model, "--canaries", "5", "--json")).stdout)
    assert (outcome["papers"], outcome["copied"], outcome["encoded"], outcome["canaries"]) == (132, 132, True, 5)
    assert versions(sciret) == {"1": ("previous", 132, "refused"), "2": ("live", 132, "taken")}
    refused = sciret(*QUERY, "--model", old)
    assert refused.exit_code == 1
    assert "sciret index migrate" in refused.stderr
    both = ("--model", f"{old},{new}")
    for command, models in ((("index", "rollback"), (new, old)), (("index", "rollback"), (old, new))):
        assert json.loads(done(sciret(*QUERY, *both)).stdout) == json.loads(
            done(sciret(*QUERY, "--model", models[0])).stdout
        )
        done(sciret(*command))
        assert done(sciret(*QUERY, "--model", models[1]))
    assert "132 unchanged" in done(sciret("ingest", CORPUS, *both)).stdout


def test_a_rollback_says_what_it_leaves_behind(filled: str, sciret: Sciret, bundles: tuple[str, str]) -> None:
    done(sciret("index", "migrate", "--no-sentences", "--canaries", "0"))
    done(sciret("delete", "ex-001", "ex-002"))
    assert "2 writes and deletions since the migration" in done(sciret("index", "rollback")).stderr
    assert versions(sciret)["1"] == ("live", 132, "taken")


def test_bad_canaries_keep_the_old_version_live(
    filled: str, sciret: Sciret, bundles: tuple[str, str], tmp_path: Path
) -> None:
    """The new one can be looked at, continued with a lower bar, or removed."""
    file = tmp_path / "canaries.jsonl"
    file.write_text('{"id": "1", "text": "sleep and memory"}\n{"id": "2", "like": "ex-003"}\n')
    model = ("--model", bundles[1], "--old-model", bundles[0], "--canary", str(file))
    result = sciret("index", "migrate", *model, "--min-overlap", "1")
    assert result.exit_code == 1
    assert "nothing was swapped" in result.stderr
    assert versions(sciret) == {"1": ("live", 132, "taken"), "2": ("next", 132, "taken")}
    assert "continues it" in sciret("index", "status").stderr
    done(sciret(*QUERY, "--store", f"{filled}-next", "--model", bundles[1]))
    other = sciret("index", "migrate", "--shards", "3")
    assert other.exit_code == 1
    assert "sciret index delete next" in other.stderr
    outcome = json.loads(done(sciret("index", "migrate", *model, "--min-overlap", "0", "--json")).stdout)
    assert (outcome["copied"], outcome["papers"]) == (0, 132)


def test_the_old_model_must_be_at_hand_for_questions(
    filled: str, sciret: Sciret, bundles: tuple[str, str], tmp_path: Path
) -> None:
    """Without it the stored papers are the questions, which is said."""
    file = tmp_path / "canaries.jsonl"
    file.write_text('{"id": "1", "text": "sleep and memory"}\n')
    result = sciret("index", "migrate", "--model", bundles[1], "--canary", str(file))
    assert result.exit_code == 2
    assert "--old-model" in result.stderr
    done(sciret("index", "delete", "next", "--yes"))
    result = done(sciret("index", "migrate", "--rebuild", "--canaries", "4"))
    assert "canaries are papers" in result.stderr
    assert "4 canaries: 100%" in result.stdout


def test_nothing_to_change_is_said(filled: str, sciret: Sciret, bundles: tuple[str, str]) -> None:
    for same in ((), ("--shards", "1"), ("--model", bundles[0])):
        result = sciret("index", "migrate", *same)
        assert result.exit_code == 2
        assert "--rebuild" in result.stderr


def test_delete_asks_and_spares_the_live_version(filled: str, sciret: Sciret) -> None:
    assert "nothing is removed" in done(sciret("index", "delete")).stderr
    done(sciret("index", "migrate", "--rebuild", "--canaries", "0"))
    assert sciret("index", "delete", stdin="n\n").exit_code == 1
    assert set(versions(sciret)) == {"1", "2"}
    refused = sciret("index", "delete", "1", "live", "--yes")
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert set(versions(sciret)) == {"1", "2"}
    done(sciret("index", "delete", stdin="y\n"))
    assert set(versions(sciret)) == {"2"}
    done(sciret("index", "delete", "live", "--force", "--yes"))
    assert versions(sciret) == {}


def test_a_killed_migration_is_continued_or_given_up(
    filled: str, sciret: Sciret, bundles: tuple[str, str], tmp_path: Path
) -> None:
    """`kill -9` in the middle: the old version serves, and the same command does what is left to do."""
    lines = "".join(json.dumps({"id": f"more-{n}", "title": f"Rivers and lakes, part {n}"}) + "\n" for n in range(600))
    done(sciret("ingest", "-", "--format", "jsonl", "--model", bundles[0], stdin=lines))
    command = ("index", "migrate", "--model", bundles[1], "--canaries", "0", "--threads", "1")
    kill_when_begun([sys.executable, "-m", "sciret.cli.main", *command], filled, tmp_path)
    status = sciret("index", "status", "--json")
    assert versions(sciret)["1"] == ("live", 732, "taken")
    assert "continues it" in json.loads(status.stdout)["remarks"][0]
    assert len(json.loads(done(sciret(*QUERY, "--model", bundles[0])).stdout)["hits"]) == 10
    outcome = json.loads(done(sciret(*command, "--json")).stdout)
    assert outcome["papers"] == 732
    assert 0 < outcome["copied"] < 732
    assert json.loads(sciret("index", "status", "--json").stdout)["remarks"] == []


def kill_when_begun(command: list[str], store: str, folder: Path) -> None:
    """After the first batch has been written, and before the last one."""
    address, _, alias = store.rpartition("/")
    with subprocess.Popen(command, cwd=folder, env=dict(os.environ), stderr=subprocess.DEVNULL) as process:
        late = time.monotonic() + 120
        while time.monotonic() < late:
            status, answer = fetch(address, f"/{alias}-next/_stats/indexing", None)
            if status == 200 and answer["_all"]["primaries"]["indexing"]["index_total"] > 0:
                break
            assert process.poll() is None, "the migration was over before it could be killed"
        process.send_signal(signal.SIGKILL)


def test_plan_needs_no_server(sciret: Sciret, tmp_path: Path) -> None:
    """Sizes per node, for people and for programs. The model says how many features and numbers there are."""
    shown = done(sciret("index", "plan", "--papers", "1000000", "--nodes", "3", "--shards", "2"))
    assert "memory for graphs" in shown.stdout
    assert "a migration needs the disk of one more index" in shown.stderr
    record = json.loads(done(sciret("index", "plan", "--papers", "1000000", "--nodes", "3", "--json")).stdout)
    assert record["copies"] == 2
    assert record["disk_bytes"] == pytest.approx(2 * sum(record["parts"].values()), rel=1e-3)
    assert record["disk_bytes_per_node"] == pytest.approx(record["disk_bytes"] / 3, rel=1e-3)
    assert record["parts"]["tokens and keyphrases"] > 0, "the default bundle has them"
    given = done(sciret("index", "plan", "--papers", "1000000", "--features-per-paper", "0", "--json"))
    assert json.loads(given.stdout)["parts"]["tokens and keyphrases"] == 0
    model = tiny_bundle(tmp_path, dims=192)
    other = json.loads(done(sciret("index", "plan", "--papers", "1000000", "--model", model, "--json")).stdout)
    assert other["parts"]["tokens and keyphrases"] == 0
    assert other["parts"]["vectors"] == record["parts"]["vectors"] / 2, "384 numbers by default"
    wrong = sciret("index", "plan", "--papers", "10", "--quantization", "fp16")
    assert wrong.exit_code == 2
    assert "lucene has no quantization" in wrong.stderr
