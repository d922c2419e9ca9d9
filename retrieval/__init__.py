"""The two main paths: ingest and search."""
