"""The C interface (``telltale.h``) through ctypes."""

import ctypes
import os

SPAN_SITE, SCOPE_SITE, LOG_SITE, EVENT_SITE = range(4)
BOOL, INT64, UINT64, DOUBLE, STRING = range(5)
LEVELS = {"error": 1, "warn": 2, "info": 3, "debug": 4, "trace": 5}
LINK_KINDS = {"related": 0, "detail-of": 1, "retry-of": 2, "input-of": 3, "waits-for": 4}
SPAN_KINDS = {"internal": 0, "server": 1, "client": 2, "producer": 3, "consumer": 4}


class Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @staticmethod
    def of(text):
        raw = text.encode("utf-8", "surrogateescape")
        return Str(raw, len(raw))


class Value(ctypes.Union):
    _fields_ = [
        ("boolean", ctypes.c_int32),
        ("int64", ctypes.c_int64),
        ("uint64", ctypes.c_uint64),
        ("float64", ctypes.c_double),
        ("string", Str),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [("key", Str), ("type", ctypes.c_int32), ("value", Value)]


class Context(ctypes.Structure):
    _fields_ = [
        ("trace_high", ctypes.c_uint64),
        ("trace_low", ctypes.c_uint64),
        ("span", ctypes.c_uint64),
        ("scope", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class Span(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_uint64), ("generation", ctypes.c_uint64)]


class SiteDescription(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("level", ctypes.c_int32),
        ("name", Str),
        ("module", Str),
        ("file", Str),
        ("line", ctypes.c_uint32),
    ]


class Statistics(ctypes.Structure):
    _fields_ = [
        ("written", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("truncated", ctypes.c_uint64),
        ("sink_dropped", ctypes.c_uint64),
        ("sink_errors", ctypes.c_uint64),
    ]


def _load():
    name = os.environ.get("TELLTALE_LIBRARY") or "libtelltale.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError as e:
        raise ImportError(
            f"telltale: cannot load {name}: {e}. Install Telltale's core (cmake --install) where the loader looks, "
            "or set TELLTALE_LIBRARY to the path of libtelltale.so.1."
        ) from None
    declare = {
        "abi_version": (ctypes.c_uint32, []),
        "start": (ctypes.c_int, []),
        "flush": (ctypes.c_int, [ctypes.c_uint32]),
        "shutdown": (ctypes.c_int, [ctypes.c_uint32]),
        "set_log_filter": (ctypes.c_int, [Str]),
        "set_trace_filter": (ctypes.c_int, [Str]),
        "last_error": (ctypes.c_char_p, []),
        "site_new": (ctypes.c_void_p, [ctypes.POINTER(SiteDescription)]),
        "site_enabled": (ctypes.c_int, [ctypes.c_void_p]),
        "span_begin": (Span, [ctypes.c_void_p, ctypes.POINTER(Attribute), ctypes.c_size_t, ctypes.POINTER(Context)]),
        "span_context": (Context, [Span]),
        "span_set": (None, [Span, ctypes.POINTER(Attribute), ctypes.c_size_t]),
        "span_link": (None, [Span, ctypes.POINTER(Context), ctypes.c_int32]),
        "span_event": (None, [Span, ctypes.c_void_p, ctypes.POINTER(Attribute), ctypes.c_size_t]),
        "span_kind": (None, [Span, ctypes.c_int32]),
        "span_fail": (None, [Span, Str]),
        "span_end": (None, [Span]),
        "log": (None, [ctypes.c_void_p, ctypes.POINTER(Attribute), ctypes.c_size_t]),
        "context_get": (Context, []),
        "context_set": (Context, [ctypes.POINTER(Context)]),
        "name_thread": (None, [Str]),
        "get_statistics": (Statistics, []),
    }
    functions = {}
    for short, (result, arguments) in declare.items():
        function = getattr(library, "telltale_" + short)
        function.restype = result
        function.argtypes = arguments
        functions[short] = function
    return functions


class _Functions:
    def __init__(self, functions):
        self.__dict__.update(functions)


c = _Functions(_load())


def last_error():
    return c.last_error().decode("utf-8", "replace")


def attributes(values):
    """Keyword arguments as (array, count). Containers and objects are refused, so that none is recorded by accident."""
    if not values:
        return None, 0
    array = (Attribute * len(values))()
    for slot, (key, value) in zip(array, values.items()):
        slot.key = Str.of(key)
        if isinstance(value, bool):
            slot.type, slot.value.boolean = BOOL, int(value)
        elif isinstance(value, str):
            slot.type, slot.value.string = STRING, Str.of(value)
        elif isinstance(value, float):
            slot.type, slot.value.float64 = DOUBLE, value
        elif hasattr(value, "__index__"):  # int, and what is one: numpy's integers
            _integer(slot, value.__index__())
        elif hasattr(value, "__float__") and not hasattr(value, "__len__"):
            slot.type, slot.value.float64 = DOUBLE, float(value)
        else:
            raise TypeError(
                f"attribute {key!r} is a {type(value).__name__}: only bool, int, float and str are recorded. "
                "Give its size or its shape, or make a str of it."
            )
    return array, len(values)


def _integer(slot, number):
    if -(2**63) <= number < 2**63:
        slot.type, slot.value.int64 = INT64, number
    elif 0 <= number < 2**64:
        slot.type, slot.value.uint64 = UINT64, number
    else:
        slot.type, slot.value.string = STRING, Str.of(str(number))
