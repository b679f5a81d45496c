"""Pages and pictures made of rows."""
