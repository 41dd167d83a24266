//! The jobs `generated` and `generated-go`: the tables of the test server and of the client are what their generators write from a genuine
//! API server, and from the Go modules of Kubernetes.

use anyhow::{Context as _, Result, ensure};

use super::realapi::{self, Server};
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::paths;

/// Runs the generators in a copy of `testserver/`, because they write into it. What tests compare with is recorded by hand
/// (`record_*.py`): that takes minutes.
pub(crate) fn generated(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    realapi::program(cx)?;
    cx.require(&["python3"])?;
    let server = Server::fresh_with(cx, "v1.37", &["--bare", "--runtime-config=api/all=true"])?;
    merge_types(cx, &server)?;

    let copy = scratch()?;
    cx.command("cp").args(["-r", "testserver"]).arg(copy.path()).run()?;
    let tables = cx.command("python3").arg(paths::TABLES_GENERATOR).dir(copy.path());
    tables.env("PYTHONDONTWRITEBYTECODE", "1").arg(&server.kubeconfig).run()?;
    let (written, again) = (paths::TABLES, copy.path().join(paths::TABLES));
    let diff = cx.command("diff").args(["-r", "--exclude=__pycache__", written]).arg(again);
    ensure!(diff.output()?.code == 0, "{written} differs from what its generator writes");
    println!("the tables of the test server and of the client are what their generators write");
    Ok(())
}

/// The client's table of built-in types, from the OpenAPI documents of a new server with all its API versions.
fn merge_types(cx: &Context, server: &Server) -> Result<()> {
    let generator = cx.command("python3").arg(cx.path(paths::MERGE_TYPES_GENERATOR));
    let written = generator.arg(&server.kubeconfig).read()?;
    let table = std::fs::read_to_string(cx.path(paths::MERGE_TYPES))?;
    ensure!(
        written.trim_end() == table.trim_end(),
        "{} differs from what its generator writes",
        paths::MERGE_TYPES
    );
    Ok(())
}

/// The job `generated-go`: the tables that come from the Go modules of Kubernetes are what their generators print.
pub(crate) fn from_go(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.require(&["go"])?;
    let kinds = cx.path(paths::KINDS);
    let kinds = kinds.to_str().context("the path of the checkout is not UTF-8")?;
    let tables: [(&str, &[&str]); 5] = [
        (paths::GO_TYPES, &["types"]),
        (paths::TAGS, &["tags", kinds]),
        (paths::MESSAGE_SAMPLES, &["samples"]),
        (paths::QUANTITIES, &["quantities"]),
        (paths::LABELS, &["labels"]),
    ];
    let generator = cx.path(paths::GO_TYPES_GENERATOR);
    for (written, arguments) in tables {
        let again = cx.command("go").args(["run", "."]).args(arguments).dir(&generator).read()?;
        let text = cx.read(written)?;
        ensure!(again.trim_end() == text.trim_end(), "{written} differs from what its generator writes");
        println!("{written} is what its generator writes");
    }
    Ok(())
}
