"""Files of any content: atomic writes, checked reading, locks, archives, downloads, tables, tensors; no graphs."""
