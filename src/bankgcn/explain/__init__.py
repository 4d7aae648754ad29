"""Which nodes and which frequencies decide a prediction."""

from bankgcn.explain.explanation import Explanation, evidence, explain

__all__ = ["Explanation", "evidence", "explain"]
