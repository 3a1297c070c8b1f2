//! Records [`tracing`](https://docs.rs/tracing)'s spans and events with Telltale: into the same rings, the same traces
//! and the same outputs as the C++ around it.
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//!
//! telltale_tracing::start()?;                                    // bad TELLTALE_* variables are an error here
//! tracing_subscriber::registry().with(telltale_tracing::layer()).init();
//! # Ok::<(), telltale_tracing::Error>(())
//! ```
//!
//! From then on `info_span!`, `#[instrument]`, `info!` and the rest work as ever, across `.await` too.
//!
//! - **A span** is one span of Telltale's from its creation to when its last handle is dropped. Entering it makes it
//!   current, also for C++ that is called meanwhile; a span that is made while C++ has one open hangs below that one.
//! - **Fields** become attributes: numbers, booleans and strings as they are, `?x` and `%x` as their text. Those
//!   recorded late ([`Span::record`](https://docs.rs/tracing/latest/tracing/struct.Span.html#method.record)) too, and a
//!   later value wins. `follows_from` is a link.
//! - **A scope**: a span that has a field `telltale.scope` gives its fields to everything below it, spans and lines,
//!   in other languages too: `info_span!("prove", telltale.scope = true, job_id = "c1a0")`.
//! - **An event** is a log line of the span it happens in; its `message` is its text.
//! - **Filters** are Telltale's (`TELLTALE_LOG` for events, `TELLTALE_TRACE` for spans, by target and level), and those
//!   of `tracing-subscriber` before them. A span that is off passes on what was current when it was made.
//!
//! The library libtelltale.so.1 has to be found: build.rs looks into TELLTALE_LIB_DIR and the usual folders.
mod ffi;
mod fields;
mod layer;

use std::ffi::CStr;
use std::fmt;
use std::time::Duration;

pub use layer::Layer;

/// The field that makes a span a scope.
pub(crate) const SCOPE_FIELD: &str = "telltale.scope";

/// Why something did not work, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Error {}

/// The layer, for any subscriber over `tracing_subscriber::Registry`.
pub fn layer() -> Layer {
    Layer::new()
}

/// Starts recording with what the environment says. Not needed (recording starts by itself), but the only way to hear
/// of a `TELLTALE_*` variable that cannot be read.
pub fn start() -> Result<(), Error> {
    if unsafe { ffi::telltale_abi_version() } < 1 {
        return Err(Error("libtelltale is older than this crate".to_owned()));
    }
    if unsafe { ffi::telltale_start() } == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(ffi::telltale_last_error()) };
    Err(Error(message.to_string_lossy().into_owned()))
}

/// Waits until everything recorded so far has left every sink; false when the time ran out. The process's exit does
/// the same by itself; `std::process::abort` and `_exit` do not.
pub fn flush(timeout: Duration) -> bool {
    let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    unsafe { ffi::telltale_flush(milliseconds) != 0 }
}

/// Where the running code stands: for carrying a trace to other threads or languages by hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context(ffi::Context);

impl Context {
    /// What is current on this thread.
    pub fn current() -> Context {
        Context(unsafe { ffi::telltale_context_get() })
    }

    /// Runs `f` with this context current on this thread, and puts back what was there.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(ffi::Context);
        impl Drop for Restore {
            fn drop(&mut self) {
                unsafe { ffi::telltale_context_set(&self.0) };
            }
        }
        let _restore = Restore(unsafe { ffi::telltale_context_set(&self.0) });
        f()
    }

    /// The trace's number, zero where there is none.
    pub fn trace_id(&self) -> u128 {
        u128::from(self.0.trace_high) << 64 | u128::from(self.0.trace_low)
    }

    /// The span's number, zero where there is none.
    pub fn span_id(&self) -> u64 {
        self.0.span
    }
}
