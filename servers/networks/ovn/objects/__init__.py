"""What the northbound database is to hold, as values made of values: no database, network or clock."""
