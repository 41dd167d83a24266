//! Checks that this folder contains every Rust sample of the guide: verbatim, with a correction, or excluded with a reason.

use std::fs;
use std::path::{Path, PathBuf};

/// Samples that are not programs: heading, first words, reason.
const EXCLUDED: &[(&str, &str, &str)] = &[
    ("kube — Facade", "// feature", "re-exports of the facade"),
    ("The Role of k8s-openapi", "impl<K, S>", "an implementation inside kube-core"),
    ("Anatomy of the Resource Trait", "pub trait", "a declaration"),
    ("blanket impl — Automatic k8s-openapi Integration", "impl<K, S>", "an implementation inside kube-core"),
    ("ObjectRef — Resource Reference", "#[non_exhaustive]", "a declaration"),
    ("What Client Really Is", "pub struct", "private fields"),
    ("Inside Api&lt;K&gt;", "pub struct", "private fields"),
    ("kube-core::Request — URL Builder", "pub struct", "an implementation inside kube-core"),
    ("WatchEvent", "pub enum", "a declaration"),
    ("Event Abstraction", "pub enum", "a declaration"),
    ("The reflector Function", "pub fn", "a declaration"),
    ("Store Internal Structure", "type Cache", "private fields"),
    ("Controller Struct", "pub struct", "private fields"),
    ("trigger_self -- Primary Resource Changes", "// Internal flow", "a diagram"),
    ("trigger_self -- Primary Resource Changes", "pub struct", "a declaration"),
    ("1. Document Struct", "pub struct", "output of the macro"),
    ("2. Resource Trait Implementation", "impl Resource", "output of the macro"),
    ("3. CustomResourceExt Implementation", "impl CustomResourceExt", "output of the macro"),
    ("merge_crds()", "pub fn", "a declaration"),
    ("Pattern 1: Writing non-deterministic values to status", "// ✗", "an intended mistake"),
    ("PartialObjectMeta-Based Generic Reconciler", "pub struct", "a declaration"),
    ("DynamicObject-Based Generics", "pub struct", "a declaration"),
    ("Memory Profiling (jemalloc)", "#[global_allocator]", "needs another crate"),
    ("Async Runtime Profiling (tokio-console)", "// Add", "needs another crate"),
    ("Structured Logging", "tracing_subscriber", "needs another crate"),
    ("Distributed Tracing", "use tracing_subscriber", "needs another crate"),
    ("Using the #[instrument] Macro", "use tracing", "needs another crate"),
    ("Exposing Metrics", "use axum", "needs another crate"),
    ("Third-Party Crates", "// Conceptual", "conceptual, with another crate"),
    ("Shutdown Coordination", "Controller::new", "uses the conceptual crate above"),
    ("shutdown_on_signal", "pub fn", "a declaration"),
    ("KubeSchema derive", "#[proc_macro_derive", "a declaration"),
    ("kube::core::admission Module", "pub struct", "declarations"),
    ("axum + rustls Server", "use axum", "needs another crate"),
];

/// Text of the guide that does not compile, and its replacement. `docs/design/spec-notes.md` gives the reasons.
const CORRECTIONS: &[(&str, &str)] = &[
    (
        "#[tokio::main]\nasync fn main() -> anyhow::Result<()> {\n    let client",
        "pub(crate) async fn main() -> anyhow::Result<()> {\n    let client",
    ),
    (
        "= reflector::store();\n// ... reflector setup",
        "= reflector::store::<MyResource>();\n// ... reflector setup",
    ),
    ("watches::<Secret>(", "watches::<Secret, _>("),
    ("use futures::stream::ReceiverStream;", "use tokio_stream::wrappers::ReceiverStream;"),
    ("|secret| { /* mapper */ }", "|_secret| { /* mapper */ None::<ObjectRef<MyResource>> }"),
    ("controller.shutdown_on_signal()\n", "let controller = controller.shutdown_on_signal();\n"),
    ("use schemars::schema::{Schema, SchemaObject, InstanceType};", "use schemars::{Schema, json_schema};"),
    (
        "Schema::Object(SchemaObject {\n        instance_type: Some(InstanceType::String.into()),\n        format: Some(\"quantity\".to_string()),\n        ..Default::default()\n    })",
        "json_schema!({ \"type\": \"string\", \"format\": \"quantity\" })",
    ),
    ("mod v1 {", "mod v1 {\nuse super::*;"),
    ("mod v2 {", "mod v2 {\nuse super::*;"),
    (
        ".predicate_filter(predicates::generation);",
        ".predicate_filter(predicates::generation, PredicateConfig::default());",
    ),
    ("predicates::generation)\n", "predicates::generation, PredicateConfig::default())\n"),
    ("combine(predicates::finalizers))", "combine(predicates::finalizers), PredicateConfig::default())"),
    ("merge_strategy = \"merge\"", "merge_strategy = kube::core::ListMerge::Set"),
    (
        "}).await\n}\n\nasync fn apply",
        "}).await.map_err(|error| Error::Finalizing(Box::new(error)))\n}\n\nasync fn apply",
    ),
    (
        "discovery.resolve_gvk(&gvk)?",
        "discovery.resolve_gvk(&gvk).ok_or_else(|| anyhow::anyhow!(\"{gvk:?} is not served\"))?",
    ),
    ("= reflector::store();\n\n// Pass", "= reflector::store::<MyResource>();\n\n// Pass"),
    ("let (mock_service, handle)", "let (mock_service, mut handle)"),
    (
        "let obj = MyResource::new(\"test\", MySpec { value: \"hello\".into() });",
        "let mut obj = MyResource::new(\"test\", MySpec { value: \"hello\".into() });\nobj.metadata.uid = Some(\"1\".into());",
    ),
    ("#[tokio::test]\n#[ignore] // Run only in CI\n", ""),
    ("backoff(\n    ExponentialBuilder", "backoff(ExponentialBackoff::from(\n    ExponentialBuilder"),
    ("with_max_delay(Duration::from_secs(30)),\n)", "with_max_delay(Duration::from_secs(30)),\n))"),
    // A type can have only one `schema` attribute.
    ("auto-generated from schemars\n", "auto-generated from schemars\n\n"),
    ("// Manual schema specification\n", "// Manual schema specification\n\n"),
    ("use hyper::Body;", "use kube::client::Body;"),
    ("resp.result.message = Some(reason);", "resp.result.message = reason;"),
];

struct Sample {
    line: usize,
    heading: String,
    code: String,
}

#[test]
fn every_sample_of_the_guide_is_compiled_or_excluded() {
    let Some(guide) = guide() else {
        println!("skipped: ../shared/spec/guide.md does not exist");
        return;
    };
    let sources = chapter_sources();
    let mut used = vec![false; EXCLUDED.len()];
    let mut missing = Vec::new();
    for sample in samples(&guide) {
        let entry = EXCLUDED
            .iter()
            .position(|(heading, start, _)| sample.heading == *heading && sample.code.starts_with(start));
        if let Some(entry) = entry {
            used[entry] = true;
            continue;
        }
        let code = CORRECTIONS
            .iter()
            .fold(sample.code, |code, (printed, corrected)| code.replace(printed, corrected));
        let missing_part = code.split("\n\n").map(tokens).find(|part| !sources.contains(part));
        missing.extend(missing_part.map(|part| format!("line {}, {}: {part}", sample.line, sample.heading)));
    }
    assert!(
        missing.is_empty(),
        "samples of the guide that are missing in this folder:\n{}",
        missing.join("\n")
    );
    let stale: Vec<_> =
        EXCLUDED.iter().zip(used).filter(|(_, used)| !used).map(|(entry, _)| entry.0).collect();
    assert!(stale.is_empty(), "excluded, but not in the guide: {stale:?}");
}

fn guide() -> Option<String> {
    fs::read_to_string(root().join("../../shared/spec/guide.md")).ok()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The code of all chapters, without comments and white space.
fn chapter_sources() -> String {
    let files = fs::read_dir(root().join("guide")).expect("this folder");
    let texts =
        files.map(|file| file.expect("its entries").path()).filter(|path| !path.ends_with("coverage.rs"));
    texts.map(|path| tokens(&fs::read_to_string(path).expect("a source file"))).collect()
}

/// The Rust code blocks of the guide, each with its heading.
fn samples(guide: &str) -> Vec<Sample> {
    let (mut found, mut heading) = (Vec::new(), "");
    let mut lines = guide.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim();
        } else if let Some(language) = line.strip_prefix("```") {
            let code: Vec<_> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
            if language.starts_with("rust") {
                found.push(Sample {
                    line: number + 1,
                    heading: heading.to_owned(),
                    code: code.join("\n") + "\n",
                });
            }
        }
    }
    found
}

/// Code without comments and white space.
fn tokens(code: &str) -> String {
    let lines = code.lines().map(|line| {
        let line = line.trim_start();
        if line.starts_with("//") { "" } else { line.split(" //").next().unwrap_or(line) }
    });
    lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}
