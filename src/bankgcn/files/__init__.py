"""Files of any content: atomic writes, archives, downloads, tables, array and tensor files. Nothing about graphs."""
