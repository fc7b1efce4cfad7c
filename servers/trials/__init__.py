"""What a create would do, why it would not, and what would make it fit."""
