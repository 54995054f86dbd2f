"""Tables: rows read block by block, columns as numbers, and the table of features."""
