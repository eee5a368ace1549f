"""profile.proto of github.com/google/pprof by its field numbers, for protobuf's own reader."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

_PACKAGE = "perftools.profiles"
_TYPES = {
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "string": FieldDescriptorProto.TYPE_STRING,
}
# A * is for repeated.
_MESSAGES: dict[str, dict[int, str]] = {
    "Profile": {
        1: "*ValueType sample_type", 2: "*Sample sample", 3: "*Mapping mapping",
        4: "*Location location", 5: "*Function function", 6: "*string string_table",
        7: "int64 drop_frames", 8: "int64 keep_frames", 9: "int64 time_nanos",
        10: "int64 duration_nanos", 11: "ValueType period_type", 12: "int64 period",
        13: "*int64 comment", 14: "int64 default_sample_type", 15: "int64 doc_url",
    },
    "ValueType": {1: "int64 type", 2: "int64 unit"},
    "Sample": {1: "*uint64 location_id", 2: "*int64 value", 3: "*Label label"},
    "Label": {1: "int64 key", 2: "int64 str", 3: "int64 num", 4: "int64 num_unit"},
    "Mapping": {
        1: "uint64 id", 2: "uint64 memory_start", 3: "uint64 memory_limit",
        4: "uint64 file_offset", 5: "int64 filename", 6: "int64 build_id",
        7: "bool has_functions", 8: "bool has_filenames", 9: "bool has_line_numbers",
        10: "bool has_inline_frames",
    },
    "Location": {
        1: "uint64 id", 2: "uint64 mapping_id", 3: "uint64 address", 4: "*Line line",
        5: "bool is_folded",
    },
    "Line": {1: "uint64 function_id", 2: "int64 line", 3: "int64 column"},
    "Function": {
        1: "uint64 id", 2: "int64 name", 3: "int64 system_name", 4: "int64 filename",
        5: "int64 start_line",
    },
}  # fmt: skip


def profile_class() -> Any:
    file = FileDescriptorProto(name="profile.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, text in fields.items():
            type_name, field = text.lstrip("*").split()
            made = message.field.add(name=field, number=number)
            many = text.startswith("*")
            made.label = (
                FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
            )
            if type_name in _TYPES:
                made.type = _TYPES[type_name]
            else:
                made.type = FieldDescriptorProto.TYPE_MESSAGE
                made.type_name = f".{_PACKAGE}.{type_name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Profile"))
