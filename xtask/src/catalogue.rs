//! The job `catalogue`: definitions of custom resources that public projects ship. Their generated types compile, and the embedded server answers
//! their creation, stores them and publishes their schemas as a genuine one does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use similar::TextDiff;
use walkdir::WalkDir;

use crate::command::{Command, pause};
use crate::context::{Context, scratch};
use crate::genuine;
use crate::job::no_arguments;
use crate::kubectl::Server;
use crate::paths;
use crate::skip::skip;

/// For the check of all types, which takes minutes and 5 GiB.
const LIMIT: Duration = Duration::from_secs(40 * 60);

pub(crate) fn catalogue(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    genuine::program(cx)?;
    let work = scratch()?;
    let definitions = download(cx, work.path())?;
    let folder = work.path().join("definitions");
    std::fs::create_dir(&folder)?;
    for (name, text) in &definitions {
        std::fs::write(folder.join(format!("{name}.yaml")), text)?;
    }
    println!("{} definitions", definitions.len());
    on_servers(cx, work.path(), &folder, definitions.keys())?;
    types(cx, work.path(), &folder)
}

/// The definitions in the modules of the list, by name; of several, the longest.
fn download(cx: &Context, folder: &Path) -> Result<BTreeMap<String, String>> {
    if !cx.has("go") {
        return skip("no Go, which downloads the modules with the definitions");
    }
    let list = cx.read(paths::CATALOGUE)?;
    let mut definitions = BTreeMap::<String, String>::new();
    for module in list.lines().filter(|line| !line.starts_with('#')) {
        let go = cx.command("go").args(["mod", "download", "-json", module]).dir(folder);
        let Ok(downloaded) = go.read() else {
            return skip(format!("the Go module {module} cannot be downloaded"));
        };
        let module: Value = serde_json::from_str(&downloaded)?;
        let source = module["Dir"].as_str().context("a module without a folder")?;
        for file in WalkDir::new(source) {
            let file = file?.into_path();
            if file.extension().is_none_or(|ending| ending != "yaml") {
                continue;
            }
            for (name, text) in definitions_of(&std::fs::read_to_string(&file).unwrap_or_default()) {
                let known = definitions.entry(name).or_default();
                if text.len() > known.len() {
                    *known = text;
                }
            }
        }
    }
    Ok(definitions)
}

/// The definitions of `apiextensions.k8s.io/v1` in a file, by name. Templates and other kinds are left out.
fn definitions_of(file: &str) -> Vec<(String, String)> {
    if !file.contains("kind: CustomResourceDefinition") || file.contains("{{") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for text in file.split("\n---") {
        let text = text.trim_start_matches('-');
        let Ok(document) = serde_saphyr::from_str::<Value>(text) else { continue };
        let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        if document["apiVersion"] == "apiextensions.k8s.io/v1" && schema.is_object() {
            let name = document["metadata"]["name"].as_str().unwrap_or_default();
            found.push((name.to_owned(), text.to_owned()));
        }
    }
    found
}

fn on_servers<'a>(
    cx: &Context,
    work: &Path,
    definitions: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<()> {
    let kubectl = genuine::kubectl(cx)?;
    let program = cx.build("--bin", "kube-testserver")?;
    let embedded = Server::start(cx, &program, work, "embedded", &[])?;
    let genuine = genuine::Server::fresh_with(cx, "v1.37", &["--bare"])?;
    let on = |kubeconfig: &Path| cx.command(&kubectl).env("KUBECONFIG", kubeconfig).dir(definitions);
    let create = |kubeconfig: &Path, name: &str| {
        let output = on(kubeconfig).args(["create", "-f", &format!("{name}.yaml")]).output()?;
        anyhow::Ok(output.text())
    };
    let mut different = Vec::new();
    for name in names {
        let (ours, theirs) = (create(&embedded.kubeconfig, name)?, create(&genuine.kubeconfig, name)?);
        if ours != theirs {
            println!(
                "--- {name}: created on the genuine server (-), on the embedded one (+)\n{}",
                diff(&theirs, &ours)
            );
            different.push(name.clone());
        }
    }
    let (embedded, genuine) = (on(&embedded.kubeconfig), on(&genuine.kubeconfig));
    let theirs = stored(&genuine)?;
    different.extend(compare(&stored(&embedded)?, &theirs));
    println!("{} definitions are created and stored on both servers", theirs.len());
    let ours = documents(&embedded)?;
    let theirs = complete_documents(&genuine, &ours)?;
    println!("{} versions of them have published schemas", theirs.len());
    different.extend(compare(&ours, &theirs));
    ensure!(different.is_empty(), "{} of them differ: {}", different.len(), different.join(", "));
    println!("ok: the embedded server answers, stores and publishes them as the genuine one does");
    Ok(())
}

/// Prints what differs; the names of it.
fn compare(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<String> {
    let of_ours = |name: &String| ours.get(name).map(String::as_str).unwrap_or_default();
    let different: Vec<_> = theirs.iter().filter(|(name, text)| of_ours(name) != **text).collect();
    for (name, theirs) in &different {
        println!("--- {name}: genuine server (-), embedded one (+)\n{}", diff(theirs, of_ours(name)));
    }
    different.into_iter().map(|(name, _)| name.clone()).collect()
}

/// The schemas of custom resources in OpenAPI v3, which `kubectl explain` prints, by path.
fn documents(kubectl: &Command) -> Result<BTreeMap<String, String>> {
    let get = |path: &str| anyhow::Ok(kubectl.clone().args(["get", "--raw", path]).read()?);
    let index: Value = serde_json::from_str(&get("/openapi/v3")?)?;
    let paths = index["paths"].as_object().context("an index has paths")?;
    let list: Value = serde_json::from_str(&kubectl.clone().args(["get", "crd", "-o", "json"]).read()?)?;
    let definitions = list["items"].as_array().context("a list has items")?;
    let groups: BTreeSet<&str> = definitions.iter().filter_map(|one| one["spec"]["group"].as_str()).collect();
    let custom = paths.iter().filter(|(path, _)| {
        path.strip_prefix("apis/")
            .and_then(|path| path.split_once('/'))
            .is_some_and(|(group, _)| groups.contains(group))
    });
    let text = |(path, entry): (&String, &Value)| {
        let url = entry["serverRelativeURL"].as_str().context("a path has a URL")?;
        let mut document: Value = serde_json::from_str(&get(url)?)?;
        let schemas = document["components"]["schemas"].as_object_mut().context("a document has schemas")?;
        schemas.retain(|name, _| !name.starts_with("io.k8s.api"));
        Ok((path.clone(), serde_json::to_string_pretty(schemas)?))
    };
    custom.map(text).collect()
}

/// The documents of a genuine server, which publishes each some time after its definition: once they are as large as the expected ones, or after a minute.
fn complete_documents(
    kubectl: &Command,
    expected: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let start = Instant::now();
    loop {
        let documents = documents(kubectl)?;
        let size = |documents: &BTreeMap<_, String>| documents.values().map(String::len).sum::<usize>();
        if size(&documents) >= size(expected) || start.elapsed() > Duration::from_secs(60) {
            return Ok(documents);
        }
        pause(Duration::from_secs(1))?;
    }
}

/// The stored definitions by name, once all have their conditions, without what differs between two servers.
fn stored(kubectl: &Command) -> Result<BTreeMap<String, String>> {
    let all = ["wait", "--for=condition=NamesAccepted", "--timeout=60s", "crd", "--all"];
    kubectl.clone().args(all).read()?;
    let list: Value = serde_json::from_str(&kubectl.clone().args(["get", "crd", "-o", "json"]).read()?)?;
    let items = list["items"].as_array().context("a list has items")?;
    let text = |item: &Value| {
        let mut item = item.clone();
        let metadata = item["metadata"].as_object_mut().context("an object has metadata")?;
        for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
            metadata.remove(field);
        }
        if let Some(conditions) = item["status"]["conditions"].as_array_mut() {
            conditions.iter_mut().for_each(|condition| drop(condition["lastTransitionTime"].take()));
            // On a genuine server, the first controller to write is the first in the list.
            conditions.sort_by_key(|condition| condition["type"].as_str().map(str::to_owned));
        }
        let name = item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Ok((name, serde_json::to_string_pretty(&item)?))
    };
    items.iter().map(text).collect()
}

fn diff(from: &str, to: &str) -> String {
    TextDiff::from_lines(from, to).unified_diff().context_radius(2).to_string()
}

/// `cargo kube gen` writes types that compile without a warning, and would write the same again.
fn types(cx: &Context, work: &Path, definitions: &Path) -> Result<()> {
    let package = work.join("types");
    std::fs::create_dir_all(package.join("src"))?;
    let program = cx.build("--bin", "cargo-kube")?;
    let generate = || {
        let command = cx.command(&program).args(["kube", "gen"]).arg(definitions);
        command.arg("--out").arg(package.join("src/types"))
    };
    generate().run()?;
    generate().arg("--check").run()?;
    std::fs::write(package.join("src/lib.rs"), "pub mod types;\n")?;
    std::fs::write(package.join("Cargo.toml"), manifest(cx))?;
    std::fs::copy(cx.path("Cargo.lock"), package.join("Cargo.lock"))?;
    let cargo = cx.cargo("check --quiet").dir(package).env("CARGO_TARGET_DIR", &cx.target);
    cargo.limit(LIMIT).run()?;
    println!("ok: the types compile");
    Ok(())
}

fn manifest(cx: &Context) -> String {
    let kube: PathBuf = cx.path("crates/kube");
    format!(
        "[package]\nname = \"types\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         kube = {{ path = {:?}, features = [\"derive\"] }}\n\
         k8s-openapi = {{ version = \"*\", features = [\"latest\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\n\n[lints.rust]\nwarnings = \"deny\"\n",
        kube.display().to_string()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_among_other_documents() {
        let file = "---\nkind: Namespace\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a\n\
                    spec: {versions: [{schema: {openAPIV3Schema: {type: object}}}]}\n---\napiVersion: apiextensions.k8s.io/v1beta1\n\
                    kind: CustomResourceDefinition\nmetadata: {name: b}\n";
        let found = definitions_of(file);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "a");
        assert!(definitions_of(&file.replace("name: a", "name: {{ name }}")).is_empty());
    }
}
