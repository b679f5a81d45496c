"""Studies as data: a spec says what to run, a row says what came out, and tables are functions of rows.

- ``spec`` and ``comparison``: which runs there are.
- ``running``: runs them, in this process, in workers or on a cluster.
- ``results``, ``scores`` and ``intervals``: rows, cells and how sure their means are.
- ``store``: stores rows and cells in a file or a folder, and reads them back.
- ``search``: chooses settings on validation nodes within a budget.
"""
