//! The layer itself.
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::RwLock;

use tracing_core::callsite::Identifier;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::ffi;
use crate::fields::Fields;

/// Records `tracing`'s spans and events with Telltale. Made by [`layer`](crate::layer).
pub struct Layer {
    sites: RwLock<HashMap<Identifier, Site>>,
}

/// A call site of Telltale's; it lives for ever and every function may use it from any thread.
#[derive(Clone, Copy)]
struct Site(*mut ffi::Site);
unsafe impl Send for Site {}
unsafe impl Sync for Site {}

/// What the registry keeps for each span.
struct Recorded {
    span: ffi::Span,
    /// What is current while the span is entered; of a span that is off, what was current when it was made.
    context: ffi::Context,
}

thread_local! {
    /// Spans that are entered on this thread, and what was current before each.
    static ENTERED: RefCell<Vec<(Id, ffi::Context)>> = const { RefCell::new(Vec::new()) };
}

fn level_of(level: &Level) -> i32 {
    match *level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

fn set_current(context: &ffi::Context) -> ffi::Context {
    unsafe { ffi::telltale_context_set(context) }
}

impl Layer {
    pub(crate) fn new() -> Layer {
        Layer { sites: RwLock::new(HashMap::new()) }
    }

    fn site(&self, metadata: &'static Metadata<'static>) -> Site {
        let key = metadata.callsite();
        if let Some(site) = self.sites.read().unwrap().get(&key) {
            return *site;
        }
        *self.sites.write().unwrap().entry(key).or_insert_with(|| {
            let is_scope = metadata.fields().field(crate::SCOPE_FIELD).is_some();
            let description = ffi::SiteDescription {
                kind: match (metadata.is_span(), is_scope) {
                    (false, _) => ffi::LOG_SITE,
                    (true, false) => ffi::SPAN_SITE,
                    (true, true) => ffi::SCOPE_SITE,
                },
                level: level_of(metadata.level()),
                // An event's text is made when it happens; the template shows it.
                name: ffi::Str::of(if metadata.is_span() { metadata.name() } else { "{message}" }),
                module: ffi::Str::of(metadata.target()),
                file: ffi::Str::of(metadata.file().unwrap_or("")),
                line: metadata.line().unwrap_or(0),
            };
            Site(unsafe { ffi::telltale_site_new(&description) })
        })
    }
}

/// The context of a span that this layer has seen.
fn context_of<S>(id: &Id, registry: &Context<'_, S>) -> Option<ffi::Context>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    registry.span(id)?.extensions().get::<Recorded>().map(|r| r.context)
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, registry: Context<'_, S>) {
        let site = self.site(attributes.metadata());
        // A contextual span hangs on what is current, which may be a span of another language.
        let parent = if attributes.is_root() {
            Some(ffi::Context::default())
        } else {
            attributes.parent().and_then(|p| context_of(p, &registry))
        };
        let mut fields = Fields::default();
        let may_record = unsafe { ffi::telltale_site_enabled(site.0) } != 0;
        let is_scope = attributes.metadata().fields().field(crate::SCOPE_FIELD).is_some();
        if may_record || is_scope {
            attributes.record(&mut fields);
        }
        let parent_pointer = parent.as_ref().map_or(ptr::null(), |p| p as *const ffi::Context);
        let span = fields.with(|list, count| unsafe { ffi::telltale_span_begin(site.0, list, count, parent_pointer) });
        let context = if span.handle == 0 && span.generation == 0 {
            parent.unwrap_or_else(|| unsafe { ffi::telltale_context_get() })
        } else {
            // Of a scope whose span is off: what is current, with its attributes.
            let former = parent.as_ref().map(set_current);
            let context = unsafe { ffi::telltale_span_context(span) };
            if let Some(former) = former {
                set_current(&former);
            }
            context
        };
        if let Some(entry) = registry.span(id) {
            entry.extensions_mut().insert(Recorded { span, context });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, registry: Context<'_, S>) {
        let Some(entry) = registry.span(id) else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        // Mutably: a span belongs to one thread at a time.
        if let Some(recorded) = entry.extensions_mut().get_mut::<Recorded>() {
            fields.with(|list, count| unsafe { ffi::telltale_span_set(recorded.span, list, count) });
        };
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, registry: Context<'_, S>) {
        let Some(target) = context_of(follows, &registry) else { return };
        let Some(entry) = registry.span(id) else { return };
        if let Some(recorded) = entry.extensions_mut().get_mut::<Recorded>() {
            unsafe { ffi::telltale_span_link(recorded.span, &target, ffi::LINK_RELATED) };
        };
    }

    fn on_event(&self, event: &Event<'_>, registry: Context<'_, S>) {
        let site = self.site(event.metadata());
        if unsafe { ffi::telltale_site_enabled(site.0) } == 0 {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let elsewhere = if event.is_root() {
            Some(ffi::Context::default())
        } else {
            event.parent().and_then(|p| context_of(p, &registry))
        };
        let former = elsewhere.as_ref().map(set_current);
        fields.with(|list, count| unsafe { ffi::telltale_log(site.0, list, count) });
        if let Some(former) = former {
            set_current(&former);
        }
    }

    fn on_enter(&self, id: &Id, registry: Context<'_, S>) {
        let Some(context) = context_of(id, &registry) else { return };
        let former = set_current(&context);
        let _ = ENTERED.try_with(|e| e.borrow_mut().push((id.clone(), former)));
    }

    // Usually the last one that was entered. Where guards are dropped in another order, the one above it goes back to
    // what was current before it.
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = ENTERED.try_with(|e| {
            let mut entered = e.borrow_mut();
            let Some(at) = entered.iter().rposition(|(entered, _)| entered == id) else { return };
            let (_, former) = entered.remove(at);
            match entered.get_mut(at) {
                Some(above) => above.1 = former,
                None => {
                    set_current(&former);
                }
            }
        });
    }

    fn on_close(&self, id: Id, registry: Context<'_, S>) {
        let Some(entry) = registry.span(&id) else { return };
        let recorded = entry.extensions_mut().remove::<Recorded>();
        if let Some(recorded) = recorded {
            unsafe { ffi::telltale_span_end(recorded.span) };
        }
    }
}
