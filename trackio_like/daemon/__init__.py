"""Stage 4 of 8. In: journals and shards of a root. Out: every row sealed, compacted, and its run's end recorded."""
