"""The only room that knows opensearchpy."""
