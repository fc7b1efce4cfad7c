"""The audit log: who changed what, through which door, before and after; append-only, and chained by hashes."""
