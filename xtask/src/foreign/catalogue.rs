//! The suite `catalogue`: definitions of custom resources that public projects ship. Their generated types compile, and the embedded server
//! answers their creation, stores them and publishes their schemas as a genuine one does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use similar::TextDiff;
use walkdir::{DirEntry, WalkDir};

use super::suite::{Case, Seen, Stage, text};
use crate::command::{Command, pause};
use crate::context::Context;
use crate::genuine;
use crate::job::no_arguments;
use crate::paths;
use crate::skip::skip;

/// For the check of all types, which takes minutes and 5 GiB.
const LIMIT: Duration = Duration::from_secs(40 * 60);

const MANIFEST: &str = include_str!("../../data/catalogue.toml.txt");

pub(super) fn cases<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    no_arguments(stage.args)?;
    let (cx, work) = (stage.cx, stage.work);
    let kubectl = cx.command(genuine::kubectl(cx)?);
    let definitions = download(cx, work)?;
    let folder = work.join("definitions");
    std::fs::create_dir(&folder)?;
    for (name, text) in &definitions {
        std::fs::write(folder.join(format!("{name}.yaml")), text)?;
    }
    println!("{} definitions", definitions.len());
    let create = kubectl.clone().args(["create", "-f", "."]).dir(&folder);
    let kubectl = kubectl.env("KUBECONFIG", work.join("embedded.kubeconfig"));
    let mut steps = types(cx, work, &folder)?;
    let seen: Seen<'_> = Box::new(move |created| on_servers(cx, &folder, &created.text(), &kubectl));
    steps.insert(0, (create, seen));
    Ok(vec![Case { name: "embedded".into(), server: Some(String::new()), steps }])
}

/// The definitions in the modules of the list, by name; of several, the longest.
fn download(cx: &Context, folder: &Path) -> Result<BTreeMap<String, String>> {
    let list = cx.read(paths::CATALOGUE)?;
    let mut definitions = BTreeMap::<String, String>::new();
    for module in list.lines().filter(|line| !line.starts_with('#')) {
        let go = cx.command("go").args(["mod", "download", "-json", module]).dir(folder);
        let Ok(downloaded) = go.read() else {
            return skip(format!("the Go module {module} cannot be downloaded"));
        };
        let module: Value = serde_json::from_str(&downloaded)?;
        let source = module["Dir"].as_str().context("a module without a folder")?;
        let files = WalkDir::new(source).into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        let files =
            files.map(DirEntry::into_path).filter(|file| file.extension().is_some_and(|end| end == "yaml"));
        let texts = files.map(|file| std::fs::read_to_string(file).unwrap_or_default());
        for (name, text) in texts.flat_map(|text| definitions_of(&text)) {
            let longest = definitions.entry(name).or_default();
            if text.len() > longest.len() {
                *longest = text;
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
    let mut definitions = Vec::new();
    for text in file.split("\n---") {
        let text = text.trim_start_matches('-');
        let Ok(document) = serde_saphyr::from_str::<Value>(text) else { continue };
        let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        if document["apiVersion"] == "apiextensions.k8s.io/v1" && schema.is_object() {
            let name = document["metadata"]["name"].as_str().unwrap_or_default();
            definitions.push((name.to_owned(), text.to_owned()));
        }
    }
    definitions
}

/// A genuine server answers, stores and publishes what the embedded one does, of which `created` is the answer.
fn on_servers(cx: &Context, definitions: &Path, created: &str, embedded: &Command) -> Result<()> {
    let server = genuine::Server::fresh_with(cx, "v1.37", &["--bare"])?;
    let genuine = embedded.clone().env("KUBECONFIG", &server.kubeconfig);
    let answer = genuine.clone().args(["create", "-f", "."]).dir(definitions).output()?.text();
    let answers = |text: &str| BTreeMap::from([("kubectl create".to_owned(), text.to_owned())]);
    let mut different = compare(&answers(created), &answers(&answer));
    let theirs = stored(&genuine)?;
    different.extend(compare(&stored(embedded)?, &theirs));
    println!("{} definitions are created and stored on both servers", theirs.len());
    let ours = documents(embedded)?;
    let theirs = complete_documents(&genuine, &ours)?;
    println!("{} versions of them have published schemas", theirs.len());
    different.extend(compare(&ours, &theirs));
    ensure!(different.is_empty(), "{} of them differ: {}", different.len(), different.join(", "));
    Ok(())
}

/// Prints what differs; the names of it.
fn compare(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<String> {
    let of_ours = |name: &String| ours.get(name).map(String::as_str).unwrap_or_default();
    let different: Vec<_> = theirs.iter().filter(|(name, text)| of_ours(name) != **text).collect();
    for (name, theirs) in &different {
        let diff = TextDiff::from_lines(theirs.as_str(), of_ours(name));
        let diff = diff.unified_diff().context_radius(2).to_string();
        println!("--- {name}: genuine server (-), embedded one (+)\n{diff}");
    }
    different.into_iter().map(|(name, _)| name.clone()).collect()
}

/// The schemas of custom resources in OpenAPI v3, which `kubectl explain` prints, by path.
fn documents(kubectl: &Command) -> Result<BTreeMap<String, String>> {
    let get = |path: &str| anyhow::Ok(kubectl.clone().args(["get", "--raw", path]).read()?);
    let index: Value = serde_json::from_str(&get("/openapi/v3")?)?;
    let paths = index["paths"].as_object().context("an index has paths")?;
    let groups = kubectl.clone().args(["get", "crd", "-o", "jsonpath={.items[*].spec.group}"]).read()?;
    let groups: BTreeSet<_> = groups.split_whitespace().collect();
    let group = |path: &str| Some(path.strip_prefix("apis/")?.split_once('/')?.0.to_owned());
    let custom = paths.iter().filter(|(path, _)| group(path).is_some_and(|group| groups.contains(&*group)));
    let text = |(path, entry): (&String, &Value)| {
        let url = entry["serverRelativeURL"].as_str().context("a path has a URL")?;
        let mut document: Value = serde_json::from_str(&get(url)?)?;
        let schemas = document["components"]["schemas"].as_object_mut().context("a document has schemas")?;
        schemas.retain(|name, _| !name.starts_with("io.k8s.api"));
        Ok((path.clone(), serde_json::to_string_pretty(schemas)?))
    };
    custom.map(text).collect()
}

/// The documents of a genuine server, which publishes each some time after its definition: once they are as large as the expected ones, or
/// after a minute.
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
    let all = ["wait", "--for=condition=NamesAccepted", "--timeout=600s", "crd", "--all"];
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

/// `cargo kube gen` writes types that compile without a warning, and would write the same again.
fn types<'a>(cx: &Context, work: &Path, definitions: &Path) -> Result<Vec<(Command, Seen<'a>)>> {
    let package = work.join("types");
    std::fs::create_dir_all(package.join("src"))?;
    std::fs::write(package.join("src/lib.rs"), "pub mod types;\n")?;
    std::fs::write(
        package.join("Cargo.toml"),
        MANIFEST.replace("@KUBE@", &cx.path("crates/kube").to_string_lossy()),
    )?;
    std::fs::copy(cx.path("Cargo.lock"), package.join("Cargo.lock"))?;
    let generate = cx.command(cx.build("--bin", "cargo-kube")?).args(["kube", "gen"]).arg(definitions);
    let generate = generate.arg("--out").arg(package.join("src/types"));
    let check = cx.cargo("check --quiet").dir(package).env("CARGO_TARGET_DIR", &cx.target).limit(LIMIT);
    Ok([generate.clone(), generate.arg("--check"), check].map(|command| (command, text(""))).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_among_other_documents() {
        let file = "---\nkind: Namespace\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a\n\
                    spec: {versions: [{schema: {openAPIV3Schema: {type: object}}}]}\n---\napiVersion: apiextensions.k8s.io/v1beta1\n\
                    kind: CustomResourceDefinition\nmetadata: {name: b}\n";
        let definitions = definitions_of(file);
        assert_eq!(definitions.len(), 1);
        assert_eq!(definitions[0].0, "a");
        assert!(definitions_of(&file.replace("name: a", "name: {{ name }}")).is_empty());
    }
}
