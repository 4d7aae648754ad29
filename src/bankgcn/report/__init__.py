"""Makes tables and figures from records. Nothing here trains or reads datasets."""
