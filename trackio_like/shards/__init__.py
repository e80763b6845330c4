"""Stage 3 of 8. In: journals. Out: immutable Parquet shards, sealed and compacted, every row in one of them."""
