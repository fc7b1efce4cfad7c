"""Open consoles of one web process: a browser's WebSocket and a host's, joined without a thread for each."""
