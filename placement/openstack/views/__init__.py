"""A function for each method of each path: parse, call a service or selector, answer."""
