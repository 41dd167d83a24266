//! From text to documents: YAML or JSON, with limits.

use std::sync::Arc;

use serde_json::Value;
use serde_json::error::Category;
use serde_saphyr::Spanned;

use super::error::ReadError;
use super::source::Source;
use super::unique_keys::UniqueKeys;

/// The documents of a text in their order. Empty ones, which are null, are left out.
///
/// Text that begins as JSON is read as JSON. If it is not JSON, it may still be YAML in braces.
pub(super) fn documents(file: &Arc<str>, text: &str) -> Result<Vec<(Value, Source)>, ReadError> {
    if !text.trim_start().starts_with('{') {
        return yaml_documents(file, text);
    }
    match json_documents(file, text) {
        Err((Category::Syntax | Category::Eof, err)) => yaml_documents(file, text).map_err(|_| err),
        read => read.map_err(|(_, err)| err),
    }
}

/// In a thread of its own: each level of a document needs some 30 KB of stack in a debug build, and threads of programs may have 2 MB.
fn yaml_documents(file: &Arc<str>, text: &str) -> Result<Vec<(Value, Source)>, ReadError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("yaml".to_owned()).stack_size(STACK);
        let reader = thread.spawn_scoped(scope, || read_yaml(file, text));
        let reader = reader.map_err(|source| ReadError::Io { path: (&**file).into(), source })?;
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

const STACK: usize = 16 * 1024 * 1024;

fn read_yaml(file: &Arc<str>, text: &str) -> Result<Vec<(Value, Source)>, ReadError> {
    let mut bytes = text.as_bytes();
    let read = serde_saphyr::read_with_options::<_, Spanned<UniqueKeys>>(&mut bytes, yaml_options());
    let documents = read.enumerate().map(|(at, document)| {
        let source = |line| Source { file: Arc::clone(file), document: at + 1, line, items: Vec::new() };
        match document {
            Ok(Spanned { value: UniqueKeys(value), referenced, .. }) => {
                Ok((value, source(referenced.line())))
            }
            Err(err) => {
                let line = err.location().map_or(0, |location| location.line());
                Err(ReadError::Syntax { at: source(line), reason: err.without_snippet().to_string() })
            }
        }
    });
    documents.collect()
}

/// JSON documents one after the other, as `kubectl get -o json` of several clusters in one file.
fn json_documents(file: &Arc<str>, text: &str) -> Result<Vec<(Value, Source)>, (Category, ReadError)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<UniqueKeys>();
    let mut documents = Vec::new();
    let (mut line, mut begin) = (1, 0);
    loop {
        let rest = text[stream.byte_offset()..].trim_start();
        let passed = std::mem::replace(&mut begin, text.len() - rest.len());
        line += text[passed..begin].bytes().filter(|byte| *byte == b'\n').count() as u64;
        let at = Source { file: Arc::clone(file), document: documents.len() + 1, line, items: Vec::new() };
        match stream.next() {
            Some(Ok(UniqueKeys(value))) => documents.push((value, at)),
            Some(Err(err)) => {
                let at = Source { line: err.line() as u64, ..at };
                return Err((err.classify(), ReadError::Syntax { at, reason: err.to_string() }));
            }
            None => return Ok(documents),
        }
    }
}

/// As `kubectl` reads YAML: 1.1, where `yes` is a boolean and `0644` is octal. The limits are far beyond any real file, the largest of
/// which have a hundred thousand lines of schemas.
fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_depth: 128,
            flow_nesting_limit: 128,
            max_events: 20_000_000,
            max_nodes: 10_000_000,
            max_documents: 100_000,
            max_total_scalar_bytes: 256 * 1024 * 1024,
            // A file with one anchor may well use it a hundred times: what aliases expand to is limited instead.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 500_000,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}
