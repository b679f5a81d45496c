"""The paper's tables and figures, one file each: the cells that each needs, and what it makes of them."""
