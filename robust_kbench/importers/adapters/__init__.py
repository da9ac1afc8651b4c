"""Modules whose text, with other constants, becomes the reference.py of an imported task."""
