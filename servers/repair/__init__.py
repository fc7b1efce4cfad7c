"""What is not as it should be: audits, drift between rows and guests, and healing it."""
