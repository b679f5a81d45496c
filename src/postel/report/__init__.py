"""The HTML page of whatever a store holds, and the pictures on it; everything is a function of cells and rows."""
