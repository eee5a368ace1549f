"""One kernel file, one module, one frozen dataclass, one pure `parse`.

`read(host)` is None where this kernel lacks the file; `ParseError` means it is there and broken.
`readings(x)` turns what was read into ticks of catalogue fields.
"""
