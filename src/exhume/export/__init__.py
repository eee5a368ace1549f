"""Other tools' formats: one module each, from values to text or bytes. `write` is the way in."""

from exhume.export.writing import FORMATS, Export, Options, make, write

__all__ = ["FORMATS", "Export", "Options", "make", "write"]
