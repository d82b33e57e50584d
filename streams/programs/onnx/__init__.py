"""Models in ONNX: files checked, inputs and outputs found, scored by onnxruntime or as trees."""
