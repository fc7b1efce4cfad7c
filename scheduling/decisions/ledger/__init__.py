"""How decisions and the fleets they saw are written down: small, exact, and without any database."""
