"""Tables of text or Parquet, column by column: names, numbers, and nothing guessed from a few rows.

A text file has no types, so its cells stay texts until somebody asks for numbers. Node ids can then mean the same
in two tables: ``007`` is a name and never seven.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postel.checks import check_separator
from postel.errors import InputError, require_extra
from postel.files import is_file, usual_separator
from postel.scale.column_kinds import WHOLE_NUMBER

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_FRACTION = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(WHOLE_NUMBER)
# Parquet says in a few bytes that a value comes a billion times: so many cells are always read, more if they are
# at most so many for a byte of the file.
_LEAST_CELLS = 1 << 24
_CELLS_PER_BYTE = 100


@dataclass(frozen=True, eq=False)
class Names:
    """A column of names: each row's place in a list of different words.

    Args:
        codes: The place of each row's word, int64 [N]; -1 for an empty cell.
        words: The words, each once.
    """

    codes: NDArray[np.int64]
    words: tuple[str, ...]

    def used(self) -> set[str]:
        """Return the words that rows have."""
        return {self.words[code] for code in np.unique(self.codes).tolist() if code >= 0}

    def trimmed(self) -> Names:
        """Return the same column without spaces around the words; words that are then the same stay apart."""
        return Names(self.codes, tuple(word.strip() for word in self.words))


@dataclass(frozen=True, eq=False)
class Table:
    """A table in memory.

    Args:
        path: The file, for errors.
        data: The ``pyarrow.Table``; cells of a text file are strings.
    """

    path: Path
    data: Any

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.data.column_names)

    def require(self, *columns: str) -> None:
        """Check that columns are there, once each.

        Args:
            columns: Their names.

        Raises:
            InputError: If one is missing or there twice.
        """
        for column in columns:
            if column not in self.names:
                raise InputError(
                    f"{self.path} lacks the column {column!r}; it has {_listed(self.names)}: name the right one"
                )
            if self.names.count(column) > 1:
                raise InputError(f"{self.path} has the column {column!r} twice: rename one of them")

    def column(self, name: str) -> Names:
        """Read a column of names: text, or whole numbers as they are usually written.

        Args:
            name: The column.

        Returns:
            The names; cells with nothing but spaces are empty.

        Raises:
            InputError: If it holds something else.
        """
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        values = self.data[name]
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            raise InputError(f"{self.path}: column {name!r} must hold whole numbers or text, got fractions")
        texts = (pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_string_view(kind))
        plain = (pa.types.is_integer(kind), pa.types.is_boolean(kind), pa.types.is_null(kind), *texts)
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        if not (any(plain) or binary):
            raise InputError(f"{self.path}: column {name!r} must hold whole numbers or text, got {kind}")
        try:
            coded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
            coded = pa.table({"a": coded}).unify_dictionaries()["a"].combine_chunks()
            if isinstance(coded, pa.ChunkedArray):  # of no rows at all
                return Names(np.empty(0, dtype=np.int64), ())
            words = coded.dictionary.to_pylist()
            if binary:
                words = [None if word is None else word.decode() for word in words]
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: column {name!r} is no UTF-8 text; save it as UTF-8") from error
        codes = np.asarray(pc.fill_null(coded.indices.cast(pa.int64()), -1))
        empty = np.array([word is None or not str(word).strip() for word in [*words, None]])
        return Names(np.where(empty[codes], -1, codes), tuple("" if word is None else str(word) for word in words))

    def numbers(self, name: str, what: str = "a feature") -> NDArray[np.float32]:
        """Read a column of numbers.

        Args:
            name: The column.
            what: What it is taken for, for the error.

        Returns:
            The numbers, float32 [N]; true and false are 1 and 0.

        Raises:
            InputError: If a cell is empty or holds something else, or a number is not finite.
        """
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        values = self.data[name]
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        try:
            if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
                values = _numbers_of_texts(values)
            found = np.asarray(pc.cast(values, pa.float32(), safe=False)) if not values.null_count else None
        except pa.ArrowException:
            found = None
        if found is None:
            raise InputError(
                f"{self.path}: column {name!r} is taken for {what} and holds text or empty cells; drop it or "
                "fill it"
            )
        if not np.isfinite(found).all():
            row = int(np.flatnonzero(~np.isfinite(found))[0]) + 1
            raise InputError(f"{self.path}: row {row} has no finite number in column {name!r}; drop it or fill it")
        return found


def read_table(path: Path, separator: str | None = None) -> Table:
    """Read a table, every cell of a text file as a text.

    Args:
        path: The file: .csv, .tsv, .txt or .parquet.
        separator: What stands between the fields of a text file; without it a comma for .csv, a tab for .tsv, and
            for .txt a tab if its first line has one and a comma otherwise.

    Returns:
        The table.

    Raises:
        InputError: If the file is missing, of another kind, or cannot be read.
    """
    given = None if separator is None else check_separator(separator)
    if not is_file(path):
        raise InputError(f"{str(path)[:200]} does not exist; give a CSV, TSV, text or Parquet file")
    suffix = path.suffix.lower()
    if suffix in _PARQUET_SUFFIXES:
        return Table(path, _read_parquet(path))
    if suffix not in TEXT_SUFFIXES:
        raise InputError(f"{path.name} must end in {', '.join(TEXT_SUFFIXES)} or .parquet")
    return Table(path, _read_text(path, given or usual_separator(path)))


def check_parquet_size(path: Path) -> None:
    """Refuse a Parquet file that says it has far more cells than files of its size do.

    Args:
        path: The file.

    Raises:
        InputError: If reading it would take a memory that the file cannot stand for.
    """
    pq = require_extra("pyarrow.parquet", "tables")
    told = pq.read_metadata(path)
    cells = told.num_rows * max(told.num_columns, 1)
    if cells > max(_LEAST_CELLS, _CELLS_PER_BYTE * path.stat().st_size):
        raise InputError(
            f"{path} is not read: it says that it has {cells} cells, which a file of its size cannot hold"
        )


def same_words(columns: Sequence[Names]) -> list[Names]:
    """Bring columns that name the same things to one spelling.

    Where every word of every column is a whole number, spaces around it mean nothing; otherwise words stay as they
    are written, so that ``01`` and ``1`` are two.

    Args:
        columns: The columns.

    Returns:
        The same columns.

    Example:
        >>> both = same_words([Names(np.array([0]), ("1 ",)), Names(np.array([0]), ("1",))])
        >>> [column.words for column in both]
        [('1',), ('1',)]
    """
    if all(_WHOLE.fullmatch(word.strip()) for column in columns for word in column.used()):
        return [column.trimmed() for column in columns]
    return list(columns)


def sorted_words(words: set[str]) -> list[str]:
    """Sort words: by their numbers if all of them are whole numbers, as texts otherwise.

    Args:
        words: The words.

    Returns:
        The words in order.

    Example:
        >>> sorted_words({"10", "9"}), sorted_words({"10", "9", "a"})
        (['9', '10'], ['10', '9', 'a'])
    """
    if all(_WHOLE.fullmatch(word) and len(word) < 40 for word in words):
        return sorted(words, key=int)
    return sorted(words)


def are_fractions(words: set[str]) -> bool:
    """Tell whether words are numbers, some of them not whole.

    Args:
        words: The words.

    Returns:
        Whether all are numbers and one of them has a point or an exponent.

    Example:
        >>> are_fractions({"1", "2.5"}), are_fractions({"007", "a"})
        (True, False)
    """
    numbers = all(_FRACTION.fullmatch(word) for word in words)
    return numbers and any(set(word) & set(".eE") for word in words)


def _read_text(path: Path, separator: str) -> Any:
    pa, csv = require_extra("pyarrow", "tables"), require_extra("pyarrow.csv", "tables")
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    # An empty cell is no value; words such as NA are words.
    values = {"strings_can_be_null": True, "null_values": [""]}
    try:
        with csv.open_csv(path, parse_options=parse) as reader:
            header = reader.schema.names
        texts = dict.fromkeys(header, pa.string())
        options = csv.ConvertOptions(column_types=texts, **values)
        return csv.read_csv(path, parse_options=parse, convert_options=options)
    except (pa.ArrowException, OSError, UnicodeError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        if "UTF8" in reason or isinstance(error, UnicodeError):
            raise InputError(
                f"{path} is no UTF-8 text ({reason}): save it as UTF-8, with iconv -f latin1 -t utf8 for example"
            ) from error
        raise InputError(f"{path} cannot be read as {path.suffix[1:]}: {reason}") from error


def _read_parquet(path: Path) -> Any:
    pa, pq = require_extra("pyarrow", "tables"), require_extra("pyarrow.parquet", "tables")
    try:
        check_parquet_size(path)
        schema = pq.read_schema(path)
        # Texts as numbers of different words: one long word in a million rows is one long word.
        types = pa.types
        texts = {field.name for field in schema if types.is_string(field.type) or types.is_binary(field.type)}
        with pq.ParquetFile(path, read_dictionary=sorted(texts)) as file:
            return file.read()
    except (pa.ArrowException, OSError, UnicodeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"{path} cannot be read as parquet: {reason}") from error


def _numbers_of_texts(values: Any) -> Any:
    pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
    words = pc.utf8_trim_whitespace(values)
    lower = pc.utf8_lower(words)
    truths = pc.is_in(lower, pa.array(["true", "false"]))
    if pc.all(truths).as_py() and len(values):
        return pc.equal(lower, "true")
    return pc.cast(words, pa.float32())


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(name[:60] for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"
