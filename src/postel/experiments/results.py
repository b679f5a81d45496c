"""The results model: a row is one run, and a cell is the answer to a question about a method.

Data flows one way: a spec is run and gives a row; rows and a chosen setting make a cell; a cell has scores;
tables, figures and pages are functions of cells and their scores. Everything here is frozen, reads nothing and
writes nothing.
"""

from postel.experiments.cells import ONE_CLASS, QUESTION_UNKNOWN, Cell, cells_of_rows
from postel.experiments.questions import SETTINGS, Question, Rung, Setting, Spent
from postel.experiments.rows import Failure, Round, Row
from postel.experiments.spec import content_key

__all__ = [
    "ONE_CLASS",
    "QUESTION_UNKNOWN",
    "SETTINGS",
    "Cell",
    "Failure",
    "Question",
    "Round",
    "Row",
    "Rung",
    "Setting",
    "Spent",
    "cells_of_rows",
    "content_key",
]
