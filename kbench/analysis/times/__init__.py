"""How long rows take, how sure that is, and which differ."""
