//! A `tracing` span's or event's fields as attributes.
use std::fmt;

use tracing_core::field::{Field, Visit};

use crate::ffi;

enum Value {
    Bool(bool),
    Int64(i64),
    Uint64(u64),
    Double(f64),
    Text(String),
}

/// Collects fields; `with` lends them to the C interface.
#[derive(Default)]
pub struct Fields {
    values: Vec<(&'static str, Value)>,
}

impl Fields {
    fn push(&mut self, field: &Field, value: Value) {
        if field.name() != crate::SCOPE_FIELD {
            self.values.push((field.name(), value));
        }
    }

    pub fn with<R>(&self, use_them: impl FnOnce(*const ffi::Attribute, usize) -> R) -> R {
        let attributes: Vec<ffi::Attribute> = self
            .values
            .iter()
            .map(|(key, value)| {
                let (kind, value) = match value {
                    Value::Bool(v) => (ffi::BOOL, ffi::Value { boolean: i32::from(*v) }),
                    Value::Int64(v) => (ffi::INT64, ffi::Value { int64: *v }),
                    Value::Uint64(v) => (ffi::UINT64, ffi::Value { uint64: *v }),
                    Value::Double(v) => (ffi::DOUBLE, ffi::Value { float64: *v }),
                    Value::Text(v) => (ffi::STRING, ffi::Value { string: ffi::Str::of(v) }),
                };
                ffi::Attribute { key: ffi::Str::of(key), kind, value }
            })
            .collect();
        use_them(attributes.as_ptr(), attributes.len())
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, Value::Double(value));
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Value::Int64(value));
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, Value::Uint64(value));
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Value::Bool(value));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, Value::Text(value.to_owned()));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, Value::Text(format!("{value:?}")));
    }
}
