"""How times are written where no template says it, such as in the Django admin: by language."""
