"""Text files: encoding, dialect, lines and delimited values."""
