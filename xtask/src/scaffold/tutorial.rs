//! The project of the book's tutorial: what `cargo kube new` writes, and the files that each step changes.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::project::{PLAN, Project, Scaffold};
use crate::context::Context;
use crate::genuine::Deployed;
use crate::paths;

const NAME: &str = "pages";

pub(super) fn tutorial(scaffold: &Scaffold<'_>) -> Result<Project> {
    println!("--- the tutorial");
    let root = scaffold.cx.root.display();
    let project = scaffold.create(NAME, &format!("--kind Page --path {root}"))?;
    let steps = scaffold.cx.path(paths::TUTORIAL);
    // Step 1 shows what was written.
    for (path, text) in step(&steps.join("1"))? {
        let written = std::fs::read_to_string(project.folder.join(&path))?;
        ensure!(written == text, "{}/1/{path} is not what `cargo kube new` writes", paths::TUTORIAL);
    }
    let command = || scaffold.command(&project.folder, "cargo").env("KUBE_VERIFY_PLAN", PLAN);
    let cargo = |args: &str| command().args(args.split(' '));
    cargo("metadata --quiet --format-version=1").read()?;
    cargo("run --quiet -- manifests").run()?;
    for (number, test) in [("2", "test --quiet"), ("4", "check --quiet"), ("5", "run --quiet -- manifests")] {
        println!("--- step {number}");
        for (path, text) in step(&steps.join(number))? {
            let target = project.folder.join(&path);
            std::fs::write(&target, text).with_context(|| target.display().to_string())?;
        }
        cargo(test).run()?;
    }
    scaffold.ci(&project)?;
    scaffold.embedded(&project, &["page-sample"])?;
    Ok(project)
}

/// The files of a step by their paths in the project, without the marks by which pages include them.
fn step(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(folder)?.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(entry.path())?;
            let is_mark = |line: &&str| line.trim_start().starts_with("// ANCHOR");
            let lines = text.lines().filter(|line| !is_mark(line));
            files.push((path, lines.map(|line| format!("{line}\n")).collect()));
        }
    }
    ensure!(!files.is_empty(), "{} has no files", folder.display());
    Ok(files)
}

/// Step 6: two replicas on a genuine server, of which the leader ends.
pub(super) fn deployed(cx: &Context, project: &Project) -> Result<()> {
    println!("--- the tutorial, on a genuine server");
    let manifests = project.deploy();
    let deployed = Deployed { name: NAME, program: &project.program, manifests: &manifests };
    deployed.run(cx, |run| {
        let sample = run.kubectl("apply -f").arg(manifests.join("samples"));
        sample.run()?;
        run.within(30, "the page is ready", "condition met", || {
            run.kubectl("wait --for=condition=Ready --timeout=1s page/page-sample")
        })?;
        run.within(10, "the index names the page", "Hello", || {
            run.kubectl("get configmap index -o jsonpath={.data.page-sample}")
        })?;
        run.within(30, "the page is deleted", "", || run.kubectl("delete page page-sample --timeout=20s"))?;
        run.within(10, "its finalizer has cleaned the index", "[]", || {
            run.kubectl("get configmap index -o jsonpath=[{.data}]")
        })
    })
}
