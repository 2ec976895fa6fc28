"""What people see: cards in notebooks and terminals, plots, pictures of fitted models."""
