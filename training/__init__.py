"""Networks and trainers; torch lives here and in onnx_export."""
