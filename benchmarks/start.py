"""How much sooner a local OpenSearch answers with a class archive: a ratio of processor time, in turn, in one run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from statistics import median

from sciret.connector.local_node import Node, Runtime, free_ports, stop
from sciret.connector.local_server import prepare_runtime, run_folder

ROUNDS = 3


def main() -> None:
    archived = prepare_runtime("3.6.0", "256m", quick=True)
    plain = replace(archived, options=tuple(each for each in archived.options if "SharedArchiveFile" not in each))
    if plain == archived:
        raise SystemExit("this Java can have no class archive")
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(ROUNDS):
        seconds["without"].append(start(plain))
        seconds["with"].append(start(archived))
    ratio = median(seconds["with"]) / median(seconds["without"])
    print(f"processor time of a start with a class archive, over one without: {ratio:.2f}")


def start(runtime: Runtime) -> float:
    """Processor seconds until it answers."""
    with run_folder() as folder:
        http, transport = free_ports(2)
        node = Node("node", folder / "node", http, transport, runtime, {"discovery.type": "single-node"})
        node.start(until_parent_ends=True)
        try:
            node.wait()
            fields = Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split()
        finally:
            stop([node], 1.0)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
