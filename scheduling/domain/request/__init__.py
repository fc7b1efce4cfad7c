"""What is asked of the scheduler, and the amounts and traits that follow from it."""
