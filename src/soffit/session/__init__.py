"""A person and a model in turn: answers about pairs, edits, refits, undo and files."""
