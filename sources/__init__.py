"""Readers of bibliographic formats: each yields Paper."""
