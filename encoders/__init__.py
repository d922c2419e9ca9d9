"""Text in, vectors out: onnxruntime, tokenizers and numpy, never torch."""
