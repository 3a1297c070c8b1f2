//! `telltale.h`, as far as it is used here. Stable: the C interface only ever grows.
use std::ffi::{c_char, c_int};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub data: *const c_char,
    pub size: usize,
}

impl Str {
    pub fn of(s: &str) -> Str {
        Str { data: s.as_ptr().cast(), size: s.len() }
    }
}

pub const SPAN_SITE: i32 = 0;
pub const SCOPE_SITE: i32 = 1;
pub const LOG_SITE: i32 = 2;

pub const BOOL: i32 = 0;
pub const INT64: i32 = 1;
pub const UINT64: i32 = 2;
pub const DOUBLE: i32 = 3;
pub const STRING: i32 = 4;

pub const LINK_RELATED: i32 = 0;

#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    pub boolean: i32,
    pub int64: i64,
    pub uint64: u64,
    pub float64: f64,
    pub string: Str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    pub key: Str,
    pub kind: i32,
    pub value: Value,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub trace_high: u64,
    pub trace_low: u64,
    pub span: u64,
    pub scope: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Span {
    pub handle: u64,
    pub generation: u64,
}

#[repr(C)]
pub struct SiteDescription {
    pub kind: i32,
    pub level: i32,
    pub name: Str,
    pub module: Str,
    pub file: Str,
    pub line: u32,
}

#[repr(C)]
pub struct Site {
    _opaque: [u8; 0],
}

extern "C" {
    pub fn telltale_abi_version() -> u32;
    pub fn telltale_start() -> c_int;
    pub fn telltale_flush(timeout_ms: u32) -> c_int;
    pub fn telltale_last_error() -> *const c_char;
    pub fn telltale_site_new(description: *const SiteDescription) -> *mut Site;
    pub fn telltale_site_enabled(site: *const Site) -> c_int;
    pub fn telltale_span_begin(
        site: *mut Site,
        attributes: *const Attribute,
        count: usize,
        parent: *const Context,
    ) -> Span;
    pub fn telltale_span_context(span: Span) -> Context;
    pub fn telltale_span_set(span: Span, attributes: *const Attribute, count: usize);
    pub fn telltale_span_link(span: Span, target: *const Context, kind: i32);
    pub fn telltale_span_end(span: Span);
    pub fn telltale_log(site: *mut Site, attributes: *const Attribute, count: usize);
    pub fn telltale_context_get() -> Context;
    pub fn telltale_context_set(context: *const Context) -> Context;
}
