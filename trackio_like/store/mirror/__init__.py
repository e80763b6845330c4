"""A local copy of a bucket, a dataset or a mounted folder, kept up; read like any root."""
