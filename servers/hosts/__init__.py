"""A host as a whole: what it holds, and how it is removed."""
