"""Trained models as files that run without this package.

Needs the ONNX libraries: ``pip install 'bankgcn[onnx]'``.
"""

from bankgcn.export.onnx_file import ExportedModel, export_onnx

__all__ = ["ExportedModel", "export_onnx"]
