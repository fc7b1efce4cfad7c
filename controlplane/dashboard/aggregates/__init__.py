"""Pages of one aggregate, for admins: what it is, an editor that shows the effect before anything is saved."""
