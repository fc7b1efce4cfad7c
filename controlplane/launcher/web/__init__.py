"""The web server: an event loop that reads requests, holds whoever waits, and lends threads to whole requests alone."""
