"""Experiments are data: a spec says what to run, a row says what came out, tables are functions of rows."""
