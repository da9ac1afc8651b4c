"""A pure function of records: ranked rows, then CSV and Markdown. Regenerating it is byte-identical."""
