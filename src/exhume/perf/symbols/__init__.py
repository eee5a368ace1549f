"""From addresses to names: the symbol tables of programs, of the kernel and of JIT compilers.

Readers (`elf`, `gopclntab`, `kallsyms`, `perfmap`) give raw `Symbols`; `build` makes one
`SymbolTable` of them; `capture` finds the file behind a mapping while its process still lives, and
keeps the table in a cache. Every file read here belongs to somebody else: all of it is hostile.
"""
