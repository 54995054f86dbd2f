"""Text files: encoding, dialect and delimited values."""
