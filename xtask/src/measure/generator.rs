//! The job `gen-cost`: time and memory of `cargo kube gen` on 2 000 definitions.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};
use walkdir::WalkDir;

use crate::command::pause;
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::paths;

const DEFINITIONS: usize = 2_000;
/// Schemas of the difficult definitions in each of them: then they have about as many structs as 2 000 definitions of public projects.
const SCHEMAS: usize = 10;
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn generator(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.cargo("build --quiet --locked --release -p cargo-kube --bin cargo-kube").run()?;
    let work = scratch()?;
    let (inputs, out, log) = (work.path().join("crds"), work.path().join("out"), work.path().join("log"));
    std::fs::create_dir(&inputs)?;
    let schemas = schemas(&cx.path(paths::DIFFICULT))?;
    for number in 0..DEFINITIONS {
        let text = serde_json::to_string_pretty(&definition(number, &schemas))?;
        std::fs::write(inputs.join(format!("{number:04}.json")), text)?;
    }

    let program = cx.command(cx.target.join("release/cargo-kube")).args(["kube", "gen"]);
    let started = Instant::now();
    let program = program.arg(&inputs).arg("--out").arg(&out).spawn(&log, &log)?;
    let mut peak = 0;
    while !program.has_ended() && started.elapsed() < LIMIT {
        let status = program.pid().map(|pid| std::fs::read_to_string(format!("/proc/{pid}/status")));
        peak = peak.max(status.and_then(Result::ok).map_or(0, |status| peak_of(&status)));
        pause(Duration::from_millis(10))?;
    }
    let code = program.wait(Duration::from_secs(1))?;
    let (seconds, text) = (started.elapsed().as_secs_f64(), std::fs::read_to_string(log)?);
    ensure!(code == 0, "exit code {code}: {text}");
    let size: u64 =
        WalkDir::new(&out).into_iter().flatten().flat_map(|file| file.metadata()).map(|it| it.len()).sum();
    print!("{text}");
    println!("{seconds:.1} s, peak RSS {} MiB, {} MiB of files", peak / 1024, size / (1024 * 1024));
    Ok(())
}

/// The first version's schema of each difficult definition, without the fields of every object.
fn schemas(folder: &Path) -> Result<Vec<Value>> {
    let mut schemas = Vec::new();
    for file in WalkDir::new(folder).sort_by_file_name() {
        let file = file?;
        if !file.file_type().is_file() {
            continue;
        }
        let text = std::fs::read_to_string(file.path())?;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).with_context(|| file.path().display().to_string())?;
        for crd in documents.into_iter().filter(|it| it["kind"] == "CustomResourceDefinition") {
            let mut schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
            let Some(fields) = schema["properties"].as_object_mut() else { continue };
            fields.retain(|name, _| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
            schemas.push(schema);
        }
    }
    ensure!(schemas.len() > SCHEMAS, "{}: no definitions", folder.display());
    Ok(schemas)
}

/// Of a kind of its own, twenty in a group. No struct of it is one of another definition.
fn definition(number: usize, schemas: &[Value]) -> Value {
    let mut fields = Map::new();
    for at in 0..SCHEMAS {
        let mut schema = schemas[(number + at) % schemas.len()].clone();
        mark(&mut schema, &format!("mark{number}"));
        fields.insert(format!("field{at}"), schema);
    }
    let (group, kind) = (format!("group{}.example.com", number / 20), format!("Kind{number}"));
    let plural = format!("kind{number}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": fields } },
            } } }],
        },
    })
}

/// Every object with fields gets one more.
fn mark(schema: &mut Value, name: &str) {
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.values_mut().for_each(|field| mark(field, name));
        fields.insert(name.to_owned(), json!({ "type": "string" }));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            mark(inner, name);
        }
    }
}

/// The largest resident set so far, in KiB.
fn peak_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_with_fields_is_marked() {
        let mut schema = json!({ "properties": { "a": { "items": { "properties": {} } } } });
        mark(&mut schema, "m");
        let text = json!({ "type": "string" });
        assert_eq!(
            schema,
            json!({ "properties": { "a": { "items": { "properties": { "m": text } } }, "m": text } })
        );
    }

    #[test]
    fn the_peak_is_a_line_of_the_status() {
        assert_eq!(peak_of("VmPeak:\t9 kB\nVmHWM:\t   512 kB\n"), 512);
    }
}
