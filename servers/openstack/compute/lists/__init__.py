"""Which servers a list asks for, and which page of them."""
