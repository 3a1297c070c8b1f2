//! The layer under the real `tracing`, read back from the JSON lines that the real library wrote.
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{json, Value};
use tracing::{debug, debug_span, error, info, info_span, instrument, trace, warn, Instrument, Span};
use tracing_subscriber::prelude::*;

/// One library per process, so one output for all tests; each looks for names of its own.
fn setup() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let file = std::env::temp_dir().join(format!("telltale-tracing-{}.jsonl", std::process::id()));
        std::env::set_var("TELLTALE_SINKS", format!("json:{}?overflow=block", file.display()));
        std::env::set_var("TELLTALE_LOG", "debug,quiet=off");
        std::env::set_var("TELLTALE_TRACE", "info");
        telltale_tracing::start().expect("starts");
        tracing_subscriber::registry().with(telltale_tracing::layer()).init();
        file
    })
}

fn lines() -> Vec<Value> {
    assert!(telltale_tracing::flush(Duration::from_secs(10)));
    let text = std::fs::read_to_string(setup()).expect("the output is there");
    text.lines().map(|l| serde_json::from_str(l).expect("valid JSON")).collect()
}

fn spans(name: &str) -> Vec<Value> {
    lines().into_iter().filter(|l| l["span"] == name && l["event"] == "complete").collect()
}

fn span(name: &str) -> Value {
    let found = spans(name);
    assert_eq!(found.len(), 1, "spans {name}");
    found.into_iter().next().unwrap()
}

fn line(message: &str) -> Value {
    let found: Vec<Value> = lines().into_iter().filter(|l| l["message"] == message).collect();
    assert_eq!(found.len(), 1, "lines {message}");
    found.into_iter().next().unwrap()
}

#[derive(Debug)]
#[allow(dead_code)]
struct Point {
    x: i32,
}

#[test]
fn fields_keep_value_and_type() {
    setup();
    drop(info_span!(
        "types",
        flag = true,
        low = i64::MIN,
        high = u64::MAX,
        ratio = 0.25,
        text = "ö",
        point = ?Point { x: 1 },
        shown = %"plain",
        late = tracing::field::Empty,
    ));
    let got = span("types");
    assert_eq!(
        got["attributes"],
        json!({"flag": true, "low": i64::MIN, "high": u64::MAX, "ratio": 0.25, "text": "ö", "point": "Point { x: 1 }",
               "shown": "plain"})
    );
    assert_eq!(got["target"], "layer");
    assert_eq!(got["level"], "INFO");
}

#[test]
fn parents_are_contextual_explicit_or_none() {
    setup();
    let outer = info_span!("outer");
    let elsewhere = info_span!("elsewhere");
    outer.in_scope(|| {
        drop(info_span!("contextual"));
        drop(info_span!(parent: &elsewhere, "explicit"));
        drop(info_span!(parent: None, "root"));
        info!(parent: &elsewhere, "said elsewhere");
        info!(parent: None, "said nowhere");
        info!("said outside");
    });
    drop((outer, elsewhere));
    assert_eq!(span("contextual")["parent_id"], span("outer")["span_id"]);
    assert_eq!(span("explicit")["parent_id"], span("elsewhere")["span_id"]);
    assert_eq!(span("root")["parent_id"], Value::Null);
    assert_ne!(span("root")["trace_id"], span("outer")["trace_id"]);
    assert_eq!(line("said elsewhere")["span_id"], span("elsewhere")["span_id"]);
    assert_eq!(line("said nowhere")["span_id"], Value::Null);
    assert_eq!(line("said outside")["span"], "outer");
}

#[test]
fn fields_recorded_late_are_there_and_the_later_value_wins() {
    setup();
    let s = info_span!("late", n = 1, rows = tracing::field::Empty);
    s.record("rows", 5);
    s.record("n", 2);
    drop(s);
    assert_eq!(span("late")["attributes"], json!({"n": 2, "rows": 5}));
}

#[test]
fn follows_from_is_a_link() {
    setup();
    let first = info_span!("followed");
    let second = info_span!("follower");
    second.follows_from(&first);
    drop((first, second));
    let links = span("follower")["links"].clone();
    assert_eq!(links.as_array().map(Vec::len), Some(1));
    assert_eq!(links[0]["span_id"], span("followed")["span_id"]);
    assert_eq!(links[0]["kind"], "related");
}

#[test]
fn an_event_is_a_line_with_its_fields() {
    setup();
    info_span!("speaks").in_scope(|| warn!(points = 7, source = "disk", "loaded {} of {{}}", 7));
    let got = line("loaded 7 of {}");
    assert_eq!((got["level"].as_str(), got["span"].as_str()), (Some("WARN"), Some("speaks")));
    assert_eq!(got["attributes"]["points"], 7);
    assert_eq!(got["attributes"]["source"], "disk");
}

#[test]
fn what_is_off_passes_on_what_was_current() {
    setup();
    info_span!("on").in_scope(|| {
        debug_span!("off").in_scope(|| {
            drop(info_span!("below"));
            trace!("never said");
            error!(target: "quiet::module", "never said");
            debug!("said below what is off");
        })
    });
    assert!(spans("off").is_empty());
    assert_eq!(span("below")["parent_id"], span("on")["span_id"]);
    assert_eq!(line("said below what is off")["span"], "on");
    assert!(!lines().iter().any(|l| l["message"] == "never said"));
}

#[test]
fn a_scopes_fields_are_inherited() {
    setup();
    info_span!("job", telltale.scope = true, job_id = "j7").in_scope(|| {
        info_span!("in the job").in_scope(|| info!("said in the job"));
    });
    assert_eq!(span("in the job")["job_id"], "j7");
    assert_eq!(line("said in the job")["job_id"], "j7");
    assert_eq!(span("job")["job_id"], "j7");
}

#[test]
fn guards_may_be_dropped_in_another_order() {
    setup();
    let before = telltale_tracing::Context::current();
    let first = info_span!("first guard").entered();
    let second = info_span!("second guard").entered();
    drop(first.exit());
    info!("said in the second");
    drop(second.exit());
    assert_eq!(telltale_tracing::Context::current(), before);
    assert_eq!(line("said in the second")["span"], "second guard");
}

#[test]
fn a_span_is_entered_on_other_threads_and_ends_once() {
    setup();
    let s = info_span!("shared");
    std::thread::scope(|threads| {
        for i in 0..4 {
            let s = s.clone();
            threads.spawn(move || {
                for _ in 0..100 {
                    s.in_scope(|| drop(info_span!("by a thread", i)));
                }
            });
        }
    });
    drop(s);
    let parent = span("shared")["span_id"].clone();
    let children = spans("by a thread");
    assert_eq!(children.len(), 400);
    assert!(children.iter().all(|c| c["parent_id"] == parent));
}

#[instrument(fields(extra = 3))]
fn instrumented(n: u64) -> u64 {
    info!("inside instrumented");
    n + 1
}

#[instrument(skip_all, err)]
async fn instrumented_async(n: u64) -> Result<u64, String> {
    tokio::task::yield_now().await;
    Span::current().record("never", 1);
    Err(format!("failed with {n}"))
}

#[test]
fn instrument_works_on_functions_and_async_functions() {
    setup();
    assert_eq!(instrumented(4), 5);
    assert_eq!(span("instrumented")["attributes"], json!({"n": 4, "extra": 3}));
    assert_eq!(line("inside instrumented")["span"], "instrumented");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(instrumented_async(9)).unwrap_err();
    assert_eq!(spans("instrumented_async").len(), 1);
    assert!(lines().iter().any(|l| l["span"] == "instrumented_async" && l["attributes"]["error"] == "failed with 9"));
}

async fn task(runtime: &'static str, k: usize) {
    for i in 0..20 {
        tokio::task::yield_now().await;
        info!(runtime, k, i, "a step");
        async { tokio::task::yield_now().await }.instrument(info_span!("step", runtime, k)).await;
    }
}

async fn all_tasks(runtime: &'static str) {
    let tasks: Vec<_> = (0..8)
        .map(|k| {
            let scope = info_span!("task", telltale.scope = true, runtime, task_id = k);
            tokio::spawn(task(runtime, k).instrument(scope))
        })
        .collect();
    for t in tasks {
        t.await.unwrap();
    }
}

fn check_tasks(runtime: &'static str) {
    let of = |name| -> Vec<Value> { spans(name).into_iter().filter(|s| s["runtime"] == runtime).collect() };
    let tasks = of("task");
    assert_eq!(tasks.len(), 8);
    let steps = of("step");
    assert_eq!(steps.len(), 160);
    for s in &steps {
        assert_eq!(s["task_id"], s["attributes"]["k"]);
        let parent = tasks.iter().find(|t| t["span_id"] == s["parent_id"]).expect("its task");
        assert_eq!(parent["task_id"], s["task_id"]);
    }
    let said: Vec<Value> = lines().into_iter().filter(|l| l["message"] == "a step" && l["runtime"] == runtime).collect();
    assert_eq!(said.len(), 160);
    assert!(said.iter().all(|l| l["task_id"] == l["attributes"]["k"] && l["span"] == "task"));
}

#[test]
fn tasks_of_one_thread_keep_their_spans() {
    setup();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(all_tasks("current"));
    assert_eq!(telltale_tracing::Context::current(), telltale_tracing::Context::default());
    check_tasks("current");
}

#[test]
fn tasks_that_wander_over_threads_keep_their_spans() {
    setup();
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap().block_on(all_tasks("multi"));
    check_tasks("multi");
}

#[test]
fn a_context_is_carried_by_hand() {
    setup();
    let s = info_span!("carried");
    let context = s.in_scope(telltale_tracing::Context::current);
    assert_ne!(context.trace_id(), 0);
    std::thread::spawn(move || context.run(|| drop(info_span!("below what was carried")))).join().unwrap();
    drop(s);
    assert_eq!(span("below what was carried")["parent_id"], span("carried")["span_id"]);
    assert_eq!(format!("{:016x}", context.span_id()), span("carried")["span_id"].as_str().unwrap());
}
