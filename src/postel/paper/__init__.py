"""The paper's tables and figures, one file each: a plan of cells, and what is made of their rows."""
