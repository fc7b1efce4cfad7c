"""The ground floor without Django: errors, refusal reasons, ids, units, clock. It imports nothing of ours."""
