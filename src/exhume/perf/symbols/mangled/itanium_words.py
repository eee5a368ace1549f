"""The vocabulary of C++ name mangling, and the limits of what is made of it."""

from __future__ import annotations

_MAX_PART_CHARS = 2048
_ELLIPSIS = "..."


class UnmangledError(Exception):
    """Not a mangled name, or a part of the grammar that is not read here."""


def cut(text: str) -> str:
    """A name that repeats itself through substitutions doubles with each; none gets beyond this."""
    return text if len(text) <= _MAX_PART_CHARS else text[: _MAX_PART_CHARS - 3] + _ELLIPSIS


BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
}  # fmt: skip

BUILTIN_D = {
    "Dd": "decimal64", "De": "decimal128", "Df": "decimal32", "Dh": "half", "Di": "char32_t",
    "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "Dn": "decltype(nullptr)",
}  # fmt: skip

LITERAL_SUFFIX = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}

STANDARD = {
    "St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string",
    "Si": "std::istream", "So": "std::ostream", "Sd": "std::iostream",
}  # fmt: skip

_CHAR = "char, std::char_traits<char>"
STANDARD_FULL = {
    "Ss": f"std::basic_string<{_CHAR}, std::allocator<char> >",
    "Si": f"std::basic_istream<{_CHAR} >",
    "So": f"std::basic_ostream<{_CHAR} >",
    "Sd": f"std::basic_iostream<{_CHAR} >",
}

OPERATORS = {
    "nw": "new", "na": "new[]", "dl": "delete", "da": "delete[]", "aw": "co_await", "ps": "+",
    "ng": "-", "ad": "&", "de": "*", "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/",
    "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=",
    "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>",
    "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=",
    "ge": ">=", "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--",
    "cm": ",", "pm": "->*", "pt": "->", "cl": "()", "ix": "[]", "qu": "?",
}  # fmt: skip

UNARY = ("ps", "ng", "ad", "de", "co", "nt", "pp", "mm")
BINARY = (
    "pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL", "mI", "mL", "dV", "rM", "aN", "oR",
    "eO", "ls", "rs", "lS", "rS", "eq", "ne", "lt", "gt", "le", "ge", "ss", "aa", "oo", "cm", "pm",
)  # fmt: skip
