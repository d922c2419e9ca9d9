"""OpenSearch templates and saved objects."""
