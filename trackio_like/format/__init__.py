"""What all stages agree on: names on disk, ranges, records, schemas. Imports no stage."""
