"""Runs, measures and significance."""
