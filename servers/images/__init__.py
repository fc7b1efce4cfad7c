"""Images: their records, properties and bytes."""
