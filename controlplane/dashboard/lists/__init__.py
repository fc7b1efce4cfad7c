"""What every list of the panel shares: search, filters, sorting, columns, paging, saved views, export."""
