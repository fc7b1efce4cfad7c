"""Where the bytes of images lie: a directory, or a bucket of an S3-compatible store, behind one Protocol."""
