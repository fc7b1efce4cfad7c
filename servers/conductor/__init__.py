"""The conductor: chooses hosts for requests, writes instances' rows, hands over to agents, moves failures to cell0."""
