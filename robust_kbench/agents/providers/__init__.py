"""Language models behind one small protocol."""
