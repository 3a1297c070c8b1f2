"""Telltale for Python: spans and log lines in the same traces and outputs as the C++ around them.

    import telltale

    with telltale.scope("prove", job_id="c1a0"):           # inherited by everything below, in C++ too
        with telltale.span("load", file="key.zkey") as s:
            s.set(points=4096)
            telltale.info("loaded {points} points", points=4096)

    @telltale.traced                                       # a span for each call; async functions too
    def prove(n): ...

    logging.getLogger().addHandler(telltale.Handler())     # the program's logging, into the span it happens in

Where records go is said by the environment (TELLTALE_SINKS, TELLTALE_LOG, TELLTALE_TRACE …); call ``start()`` to hear
of a variable that cannot be read. Nothing else needs to be called: recording starts with the first record, and exit
flushes.

The current span is kept in a context variable, so every asyncio task has its own. A thread starts without one, unless
what it runs was made by ``bind(f)`` (``asyncio.to_thread`` does the same by itself). Native code that is called sees
the current span of the task that last entered a span or wrote a line; call ``install()`` before it where other tasks
may have run in between.

Attributes are bool, int, float and str; anything else is a TypeError: no tensor, key or user's data is recorded by
accident. The library libtelltale.so.1 must be where the loader looks, or TELLTALE_LIBRARY its path.
"""

import contextvars
import ctypes
import functools
import inspect
import logging
import sys
import traceback

from . import _library
from ._library import Context, c

__all__ = [
    "Error", "Handler", "Span", "bind", "current", "debug", "error", "flush", "info", "install", "name_thread", "scope",
    "set_log_filter", "set_trace_filter", "shutdown", "span", "start", "statistics", "trace", "traced", "warn",
]


class Error(Exception):
    """What Telltale could not do, as a sentence."""


# --- starting and steering ------------------------------------------------------------------------------------------


def start():
    """Starts recording with what the environment says; raises Error where a variable cannot be read."""
    if c.start() != 0:
        raise Error(_library.last_error())


def flush(seconds=2.0):
    """Waits until everything recorded so far has left every sink; False where the time ran out."""
    return c.flush(int(seconds * 1000)) == 1


def shutdown(seconds=2.0):
    """Flushes and stops; what is recorded afterwards is dropped and counted."""
    return c.shutdown(int(seconds * 1000)) == 1


def set_log_filter(directives):
    """Changes the filter of log lines: "info,prover=debug". Raises Error, changing nothing, where it makes no sense."""
    if c.set_log_filter(_library.Str.of(directives)) != 0:
        raise Error(_library.last_error())


def set_trace_filter(directives):
    """Changes the filter of spans."""
    if c.set_trace_filter(_library.Str.of(directives)) != 0:
        raise Error(_library.last_error())


def name_thread(name):
    """The name under which this thread appears."""
    c.name_thread(_library.Str.of(name))


def statistics():
    """What the library counted, as a dict: written, dropped, truncated, sink_dropped, sink_errors."""
    s = c.get_statistics()
    return {name: getattr(s, name) for name, _ in s._fields_}


# --- the current context --------------------------------------------------------------------------------------------

# None: whatever is current on this thread, which may be a span of native code.
_current = contextvars.ContextVar("telltale", default=None)


def current():
    """The current context, for links and for carrying it elsewhere by hand; its fields are numbers, zero for none."""
    context = _current.get()
    return context if context is not None else c.context_get()


def install():
    """Makes the current task's context current on this thread, for native code that is about to be called."""
    context = _current.get()
    if context is not None:
        c.context_set(ctypes.byref(context))


def bind(function):
    """``function``, to be run on another thread under the context in which ``bind`` was called."""
    here = contextvars.copy_context()

    @functools.wraps(function)
    def bound(*args, **kwargs):
        # A copy for each call: one context cannot be entered twice at once.
        return here.copy().run(function, *args, **kwargs)

    return bound


# --- call sites -----------------------------------------------------------------------------------------------------

_sites = {}


def _site(kind, level, name, module, file, line):
    key = (kind, level, name, module, file, line)
    site = _sites.get(key)
    if site is None:
        if level not in _library.LEVELS:
            raise ValueError(f"{level!r} is no level: error, warn, info, debug, trace")
        # Filters go by modules as C++ and Rust write them: "shop" covers "shop::orders".
        target = module.replace(".", "::")
        description = _library.SiteDescription(
            kind, _library.LEVELS[level], _library.Str.of(name), _library.Str.of(target), _library.Str.of(file), line
        )
        site = c.site_new(ctypes.byref(description))
        _sites[key] = site
    return site


def _site_here(kind, level, name, depth):
    frame = sys._getframe(depth + 1)
    return _site(kind, level, name, frame.f_globals.get("__name__", "main"), frame.f_code.co_filename, frame.f_lineno)


# --- spans ----------------------------------------------------------------------------------------------------------


class Span:
    """A span: begun by ``with``, ended by its end. Made by span() and scope()."""

    __slots__ = ("_site", "_attributes", "_span", "_token", "_context", "_former")

    def __init__(self, site, attributes):
        self._site = site
        self._attributes = attributes
        self._span = None

    def __enter__(self):
        parent = _current.get()
        array, count = _library.attributes(self._attributes)
        if parent is not None:
            c.context_set(ctypes.byref(parent))
        self._former = c.context_get()
        self._span = c.span_begin(self._site, array, count, None)
        self._context = c.span_context(self._span)
        c.context_set(ctypes.byref(self._context))
        self._token = _current.set(self._context)
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.fail(kind.__name__)
        c.span_end(self._span)
        _current.reset(self._token)
        c.context_set(ctypes.byref(self._former))
        return False

    def _begun(self):
        if self._span is None:
            raise RuntimeError("the span has not begun: use it as `with telltale.span(…) as s:`")
        return self._span

    def set(self, **attributes):
        """Adds attributes; a later value of the same key wins."""
        span = self._begun()
        c.span_set(span, *_library.attributes(attributes))

    def event(self, name, **attributes):
        """Something that happened at one moment of it."""
        span = self._begun()
        c.span_event(span, _site_here(_library.EVENT_SITE, "info", name, 1), *_library.attributes(attributes))

    def link(self, other, kind="related"):
        """Points at another span (or a context, as current() gives it). Kinds: related, detail-of, retry-of, input-of,
        waits-for."""
        if kind not in _library.LINK_KINDS:
            raise ValueError(f"{kind!r} is no kind of link: {', '.join(_library.LINK_KINDS)}")
        target = other.context if isinstance(other, Span) else other
        c.span_link(self._begun(), ctypes.byref(target), _library.LINK_KINDS[kind])

    def kind(self, kind):
        """internal (the default), server, client, producer or consumer."""
        if kind not in _library.SPAN_KINDS:
            raise ValueError(f"{kind!r} is no kind of span: {', '.join(_library.SPAN_KINDS)}")
        c.span_kind(self._begun(), _library.SPAN_KINDS[kind])

    def fail(self, code):
        """Marks it as failed; ``code`` is a short, stable word. An exception that leaves the block does this with its
        class's name."""
        c.span_fail(self._begun(), _library.Str.of(code))

    @property
    def context(self):
        """Its context, for links."""
        self._begun()
        return self._context


def span(name, *, level="info", **attributes):
    """A span to the end of a ``with`` block."""
    return Span(_site_here(_library.SPAN_SITE, level, name, 1), attributes)


def scope(name, **attributes):
    """A span whose attributes everything below it inherits: spans and lines, of native code too."""
    return Span(_site_here(_library.SCOPE_SITE, "info", name, 1), attributes)


def traced(function=None, *, name=None, level="info", **attributes):
    """A span for each call of a function or coroutine function: ``@traced`` or ``@traced(name="…", n=3)``."""
    if function is None:
        return functools.partial(traced, name=name, level=level, **attributes)
    code = inspect.unwrap(function).__code__
    site = _site(
        _library.SPAN_SITE, level, name or function.__qualname__, function.__module__, code.co_filename,
        code.co_firstlineno,
    )
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            with Span(site, attributes):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator: its span would be current in whoever iterates over it")
    else:

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with Span(site, attributes):
                return function(*args, **kwargs)

    return wrapper


# --- lines ----------------------------------------------------------------------------------------------------------


def _write(site, attributes):
    install()
    c.log(site, *_library.attributes(attributes))


def _line(level, message, attributes):
    site = _site_here(_library.LOG_SITE, level, message, 2)
    if c.site_enabled(site):
        _write(site, attributes)


def error(message, /, **attributes):
    """A line of level error. ``message`` is constant text with {fields} that name attributes; never an f-string, which
    would make a call site of each text."""
    _line("error", message, attributes)


def warn(message, /, **attributes):
    """A line of level warn; see error()."""
    _line("warn", message, attributes)


def info(message, /, **attributes):
    """A line of level info; see error()."""
    _line("info", message, attributes)


def debug(message, /, **attributes):
    """A line of level debug; see error()."""
    _line("debug", message, attributes)


def trace(message, /, **attributes):
    """A line of level trace; see error()."""
    _line("trace", message, attributes)


# What every LogRecord has; the rest came with `extra`.
_own_fields = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


class Handler(logging.Handler):
    """Hands the program's logging to Telltale: each record is a line of the span it happens in, with the logger's name
    as its module (``shop.orders`` is ``shop::orders`` to filters and in the output), and numbers, booleans and texts of ``extra`` as attributes (other things of ``extra`` are left out).
    An exception adds exception.type and exception.stacktrace."""

    def emit(self, record):
        try:
            site = _site(
                _library.LOG_SITE, _level_of(record.levelno), "{message}", record.name, record.pathname, record.lineno
            )
            if not c.site_enabled(site):
                return
            attributes = {"message": record.getMessage()}
            for key, value in record.__dict__.items():
                if key not in _own_fields and isinstance(value, (bool, int, float, str)):
                    attributes[key] = value
            if record.exc_info and record.exc_info[0] is not None:
                attributes["exception.type"] = record.exc_info[0].__name__
                attributes["exception.stacktrace"] = "".join(traceback.format_exception(*record.exc_info))
            _write(site, attributes)
        except Exception:  # as logging asks of its handlers
            self.handleError(record)


def _level_of(number):
    for level, least in (("error", logging.ERROR), ("warn", logging.WARNING), ("info", logging.INFO),
                         ("debug", logging.DEBUG)):
        if number >= least:
            return level
    return "trace"
