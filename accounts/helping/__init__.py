"""How operators help a person: notes about the person, and looking at the person's pages as the person sees them."""
