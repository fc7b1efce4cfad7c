"""Networks of kind OVN: rows to the northbound database."""
