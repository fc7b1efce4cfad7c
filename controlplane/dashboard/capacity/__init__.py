"""The page of room: how many more of each flavor fit, by zone."""
