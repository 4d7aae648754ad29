"""Makes tables, figures and pages from records and trained models. Nothing here trains or reads datasets."""
