//! The job `rust-analyzer`: completion, hover, definitions and diagnostics inside `apply!`, by a genuine rust-analyzer.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::server::{self, Server};
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::skip::skip;

/// What an editor asks where `$0` stands, and a text that has to be in the answer.
const CASES: [(&str, Question, &str); 9] = [
    ("apply!(Deployment { spec: { r$0 } })", Question::Completion, "replicas"),
    ("apply!(Deployment { spec: { replicas: 1, rev$0 } })", Question::Completion, "revision_history_limit"),
    (
        "apply!(Deployment { spec: { template: { spec: { containers: [{ name: \"x\", image_p$0 }] } } } })",
        Question::Completion,
        "image_pull_policy",
    ),
    ("apply!(Deployment { spec: { if true { pa$0 } } })", Question::Completion, "paused"),
    ("apply!(Deployment { metadata: { name: owner_of_it.to_s$0 } })", Question::Completion, "to_string"),
    ("apply!(Deployment { spec: { repl$0icas: 1 } })", Question::Hover, "Option<i32>"),
    ("apply!(Deployment { metadata: { name: owner_o$0f_it } })", Question::Hover, "&str"),
    ("apply!(Deployment { spec: { repl$0icas: 1 } })", Question::Definition, "deployment_spec.rs"),
    ("apply!(Deployment { spec: { $0replcas: 1 } })", Question::Diagnostics, "no field `replcas`"),
];

#[derive(Clone, Copy, PartialEq)]
enum Question {
    Completion,
    Hover,
    Definition,
    /// At the name that begins there.
    Diagnostics,
}

pub(crate) fn rust_analyzer(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    if !cx.command("rust-analyzer").arg("--version").succeeds() {
        return skip("rust-analyzer is not installed (`rustup component add rust-analyzer`)".to_owned());
    }
    let folder = scratch()?;
    write_project(cx, folder.path())?;
    let file = folder.path().join("src/main.rs");
    let mut server = Server::start(folder.path(), &cx.target.join("rust-analyzer"))?;
    server.open(&file, &program("apply!(Deployment {})").0)?;
    server.wait_until_loaded()?;
    let mut wrong = Vec::new();
    for (expression, question, expected) in CASES {
        let program = program(expression);
        server.change(&file, &program.0)?;
        let answer = ask(&mut server, &file, question, &program)?;
        let is_right = answer.contains(expected);
        println!("{} {expression}: {expected}", if is_right { "ok  " } else { "FAIL" });
        if !is_right {
            wrong.push(format!("{expression}: expected {expected}, got {answer}"));
        }
    }
    server.stop()?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn write_project(cx: &Context, folder: &Path) -> Result<()> {
    let kube = cx.path("crates/kube");
    let manifest = format!(
        "[package]\nname = \"scratch\"\nedition = \"2024\"\n\n[dependencies]\n\
         kube = {{ path = \"{}\", default-features = false, features = [\"derive\"] }}\n\
         k8s-openapi = {{ version = \"0.29\", features = [\"latest\"] }}\n",
        kube.display()
    );
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::copy(cx.path("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(std::fs::write(folder.join("src/main.rs"), program("apply!(Deployment {})").0)?)
}

/// A program with the expression, and where `$0` stands in it.
fn program(expression: &str) -> (String, usize, usize) {
    let line = format!("    let _ = {expression};");
    let column = line.find("$0").unwrap_or_default();
    let start = "use k8s_openapi::api::apps::v1::Deployment;\nuse kube::apply;\n\nfn main() {\n    let owner_of_it = \"x\";\n";
    (format!("{start}{}\n}}\n", line.replace("$0", "")), start.lines().count(), column)
}

/// The texts of an answer.
fn ask(
    server: &mut Server,
    file: &Path,
    question: Question,
    program: &(String, usize, usize),
) -> Result<String> {
    let (text, line, column) = program;
    let at = json!({ "textDocument": { "uri": server::uri(file) }, "position": { "line": line, "character": column } });
    let texts = |list: &Value, text: &dyn Fn(&Value) -> String| {
        list.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join("\n")
    };
    Ok(match question {
        Question::Completion => {
            let answer = server.request("textDocument/completion", at)?;
            texts(answer.get("items").unwrap_or(&answer), &|item| item["label"].to_string())
        }
        Question::Hover => server.request("textDocument/hover", at)?["contents"].to_string(),
        Question::Definition => {
            texts(&server.request("textDocument/definition", at)?, &|place| place.to_string())
        }
        Question::Diagnostics => {
            let here = json!({ "line": line, "character": column });
            texts(&server.diagnostics(file, text)?, &|found| match found["range"]["start"] == here {
                true => found["message"].to_string(),
                false => format!("elsewhere, {}", found["range"]),
            })
        }
    })
}
