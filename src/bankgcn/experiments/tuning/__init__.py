"""The search for good settings by validation graphs alone: what trials vary, one trial, a study of many trials."""
