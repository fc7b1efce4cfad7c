"""What can be done to an instance, in one table: `table` has a row for each action, `guards` says when Nova lets it
begin, `refusal` why it may not begin now. How to add one: docs/adding-an-action.md.
"""
