"""Records in; tables and figures out. Nothing here trains, or looks at data."""
