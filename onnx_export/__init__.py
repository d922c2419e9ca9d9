"""A torch or transformers checkpoint becomes a model bundle."""
