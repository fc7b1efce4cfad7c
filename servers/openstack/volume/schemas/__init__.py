"""What bodies and queries of the Volume API may say. What we would not do is no part of them, so that it is refused."""
