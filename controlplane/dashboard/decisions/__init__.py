"""Pages of scheduling decisions."""
