//! The table of jobs, in the order of a run.

use crate::job::{Job, When};
use crate::{
    apply, budgets, commands, deploy, docs, facts, foreign, genuine, kubectl, lint, long, manifests, measure,
    packaging, samples, scaffold, setup, test,
};

/// All jobs.
#[rustfmt::skip] // one job a line
pub(crate) const JOBS: &[Job] = &[
    Job { name: "setup", when: When::Always, summary: "installs what a bare Rust machine lacks: C compiler, kubectl, OpenSSL headers, valgrind, xz", usage: "", run: setup::setup },
    Job { name: "fmt", when: When::Always, summary: "formatting of the three workspaces", usage: "", run: lint::fmt },
    Job { name: "typos", when: When::Always, summary: "spelling; exceptions in _typos.toml", usage: "", run: lint::typos },
    Job { name: "samples", when: When::Always, summary: "the Rust code in the pages of the book is the code that is tested", usage: "--update", run: samples::samples },
    Job { name: "facts", when: When::Always, summary: "what pages say about the repository is true, source files explain themselves, crates depend in the right direction", usage: "", run: facts::facts },
    Job { name: "budgets", when: When::Always, summary: "at most 400 lines of code in a file, 60 in a mod.rs; no circles of modules or files, except for listed recursions", usage: "", run: budgets::budgets },
    Job { name: "shared-features", when: When::Always, summary: "features of other crates that kube 5.0.0 turns on are on, as recorded", usage: "--update", run: packaging::shared_features },
    Job { name: "clippy", when: When::Always, summary: "lints with warnings denied, all targets", usage: "", run: lint::clippy },
    Job { name: "surface", when: When::Always, summary: "no item of the 5.0 surface is missing, only listed signatures differ (needs ../shared)", usage: "--update", run: packaging::surface },
    Job { name: "install", when: When::Always, summary: "the README's ways to depend on the workspace: path, git, [patch.crates-io]; the dependencies and the build script of other pages, with an empty configuration of Cargo", usage: "", run: packaging::install },
    Job { name: "instructions", when: When::Always, summary: "instructions and allocations of single operations, at most 5 % above guard/baseline.txt", usage: "--update", run: measure::instructions },
    Job { name: "generated", when: When::Genuine, summary: "the tables of the test server and of the client are what their generators write", usage: "", run: genuine::generated },
    Job { name: "build", when: When::Always, summary: "the tests and programs of the workspace, which `test` and later jobs run", usage: "", run: test::build },
    Job { name: "test", when: When::Always, summary: "cargo test --workspace, with OpenSSL where it is: unit, integration, documentation and end-to-end tests on the embedded server", usage: "", run: test::test },
    Job { name: "features", when: When::Always, summary: "feature sets that no other job builds; the tests of the test server without its features", usage: "", run: lint::features },
    Job { name: "docs", when: When::Always, summary: "rustdoc with broken links denied", usage: "", run: docs::docs },
    Job { name: "book", when: When::Always, summary: "the book builds, its links lead somewhere, its samples run", usage: "--serve", run: docs::book },
    Job { name: "cost", when: When::Always, summary: "processor time and memory of the test server, at most three times the recorded values", usage: "", run: measure::cost },
    Job { name: "quickstart", when: When::Always, summary: "the README's quickstart ends within 20 s; an unreachable cluster is one line and exit code 1", usage: "", run: test::quickstart },
    Job { name: "commands", when: When::Always, summary: "every cargo run of the pages and examples names one program, which does what the page says", usage: "", run: commands::commands },
    Job { name: "promtool", when: When::Always, summary: "metrics are well-formed, dashboard and alert rules use metrics that exist, alerts fire when they should", usage: "", run: deploy::promtool },
    Job { name: "manifests", when: When::Always, summary: "the kustomize base of examples/operator builds to its plain manifests", usage: "", run: manifests::kustomize },
    Job { name: "kubectl-smoke", when: When::Always, summary: "common kubectl commands against the embedded server", usage: "", run: kubectl::smoke },
    Job { name: "foreign-pods", when: When::Always, summary: "kubectl and the PyPI client against pods of the embedded server: exec, logs, cp, port-forward, drain", usage: "", run: kubectl::pods },
    Job { name: "python", when: When::Always, summary: "the fixture and the test of examples/python", usage: "", run: test::python },
    Job { name: "kubectl-compare", when: When::Genuine, summary: "450 kubectl commands print the same on the embedded server and on Kubernetes 1.37", usage: "[-v]", run: kubectl::compare },
    Job { name: "kubectl-example", when: When::Genuine, summary: "examples/kubectl has the effect of kubectl, on Kubernetes 1.37 and on pods of the embedded server", usage: "", run: kubectl::example },
    Job { name: "e2e-genuine", when: When::Genuine, summary: "the end-to-end suite and the quickstart on genuine servers, and beside kubectl", usage: "[v1.37] [core]", run: genuine::e2e },
    Job { name: "operator-genuine", when: When::Genuine, summary: "examples/operator on servers that call its webhooks, on v1.37 with its generated manifests alone (needs root for port 443)", usage: "", run: genuine::operator },
    Job { name: "fleet-genuine", when: When::Genuine, summary: "examples/fleet with its hub and a member on two servers, with the roles of manifests for members", usage: "", run: genuine::fleet },
    Job { name: "conformance-genuine", when: When::Genuine, summary: "the conformance suite passes on Kubernetes 1.37, and its results match their table", usage: "", run: genuine::conformance },
    Job { name: "new", when: When::Always, summary: "operators that `cargo kube` writes, extends and upgrades, and that of the tutorial: their own CI, --embedded, on a genuine server; names of all sorts, and the shortest form of every command", usage: "", run: scaffold::new },
    Job { name: "package", when: When::ByName, summary: "every crate packs, builds from its packed files, and documents as on docs.rs", usage: "", run: packaging::package },
    Job { name: "msrv", when: When::ByName, summary: "the crates build with the minimum Rust version (needs that toolchain)", usage: "", run: packaging::msrv },
    Job { name: "dependencies", when: When::ByName, summary: "no unused dependency, licences and sources as in deny.toml, lowest and highest versions build, the highest read texts alike", usage: "[unused] [deny] [minimal] [newest]", run: packaging::dependencies },
    Job { name: "semver", when: When::ByName, summary: "no incompatible change of a public item since a commit", usage: "[COMMIT]", run: packaging::semver },
    Job { name: "release", when: When::ByName, summary: "what docs/releasing.md asks for before a tag: versions, changelog, surface, semver, dependencies, packed crates", usage: "", run: packaging::release },
    Job { name: "fuzz", when: When::ByName, summary: "every fuzz target survives a few thousand inputs", usage: "[TARGET...]", run: long::fuzz },
    Job { name: "mutants", when: When::ByName, summary: "no mutant of decision code survives the tests", usage: "[queue|watcher|store|runner|leases] [OPTIONS]", run: long::mutants },
    Job { name: "soak", when: When::ByName, summary: "two replicas, one killed every 20 s while pages change, for 10 minutes", usage: "[MINUTES]", run: test::soak },
    Job { name: "debug-page", when: When::ByName, summary: "the debug page of examples/operator in headless Chromium", usage: "--update", run: deploy::debug_page },
    Job { name: "rust-analyzer", when: When::ByName, summary: "completion, hover, definitions and diagnostics inside apply! (needs rustup's component rust-analyzer)", usage: "", run: apply::rust_analyzer },
    Job { name: "apply-names", when: When::ByName, summary: "apply! finds the names of all fields with every version of k8s-openapi, optimized, and under Miri", usage: "[versions] [release] [miri]", run: apply::apply_names },
    Job { name: "helm", when: When::ByName, summary: "Helm lints the chart of examples/operator and renders the plain manifests, and what other values say", usage: "", run: manifests::helm },
    Job { name: "helm-commands", when: When::ByName, summary: "Helm 4 and 3 install, upgrade, roll back, test and remove their sample chart on the embedded server", usage: "[4] [3]", run: |cx, args| foreign::run(cx, args, &foreign::HELM) },
    Job { name: "javascript", when: When::ByName, summary: "the npm client against the embedded server, over plain HTTP and TLS (needs Node.js)", usage: "", run: |cx, args| foreign::run(cx, args, &foreign::JAVASCRIPT) },
    Job { name: "kubebuilder", when: When::ByName, summary: "the tests of a Go project on envtest pass with the programs of `kube-testserver assets` (needs Go)", usage: "", run: |cx, args| foreign::run(cx, args, &foreign::KUBEBUILDER) },
    Job { name: "controller-runtime", when: When::ByName, summary: "the test suites of Go's controller-runtime pass on the embedded server (needs Go)", usage: "[SUITE...]", run: |cx, args| foreign::run(cx, args, &foreign::CONTROLLER_RUNTIME) },
    Job { name: "official-e2e", when: When::GenuineByName, summary: "the end-to-end tests of Kubernetes that pass on a genuine cluster pass on the embedded server, except for known gaps; all, or those with a TEXT in their names, such as sig-auth", usage: "[TEXT...]", run: |cx, args| foreign::run(cx, args, &foreign::OFFICIAL_E2E) },
    Job { name: "packet-loss", when: When::ByName, summary: "idle streams end within 60 s when the network drops every packet (needs root)", usage: "", run: long::packet_loss },
    Job { name: "chaos", when: When::GenuineByName, summary: "three libraries on a genuine server that is restarted, killed, suspended, cut off: the time until all is reconciled; three servers, one away: the latency on the others", usage: "[fleet] [--outages N,N]", run: long::chaos },
    Job { name: "verify-all", when: When::ByName, summary: "kube-verify tries every plan for the quickstart and for examples/operator, with its manager and leader election", usage: "", run: long::verify_all },
    Job { name: "verify-foreign", when: When::ByName, summary: "kube-verify on operators that do not know this workspace: on kube 5.0.0 and 1.1, or checkouts in a folder", usage: "[FOLDER]", run: long::verify_foreign },
    Job { name: "e2e-restart", when: When::GenuineByName, summary: "429 and 410 of a genuine server that restarts", usage: "", run: genuine::restart },
    Job { name: "e2e-etcd-restore", when: When::GenuineByName, summary: "a watcher on a genuine server whose etcd is restored from a backup", usage: "", run: genuine::etcd_restore },
    Job { name: "testserver-data", when: When::ByName, summary: "100 000 objects, 20 kills under load and a full disk: no acknowledged write is lost", usage: "[OBJECTS KILLS]", run: measure::data },
    Job { name: "generated-go", when: When::ByName, summary: "the tables from the Go modules of Kubernetes are what their generators print (needs Go)", usage: "", run: genuine::from_go },
    Job { name: "catalogue", when: When::GenuineByName, summary: "definitions of public projects: the types of `cargo kube gen` compile, the embedded server stores them as a genuine one (needs Go)", usage: "", run: |cx, args| foreign::run(cx, args, &foreign::CATALOGUE) },
    Job { name: "gen-cost", when: When::ByName, summary: "time and memory of `cargo kube gen` on 2 000 definitions", usage: "", run: measure::generator },
    Job { name: "testserver-size", when: When::ByName, summary: "what a test crate with the embedded server costs to build", usage: "[--at COMMIT] [FEATURES...]", run: measure::size },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::pattern::regex;

    /// Commands that are no jobs.
    const COMMANDS: [&str; 4] = ["ci", "check", "genuine", "bench"];

    #[test]
    fn pages_name_jobs_that_exist() {
        let name = regex(r"cargo xtask ([a-z0-9]+(?:-[a-z0-9]+)*)");
        for page in facts::pages(&Context::new().unwrap()).unwrap() {
            for found in name.captures_iter(&page.text) {
                let known = COMMANDS.contains(&&found[1]) || JOBS.iter().any(|job| job.name == &found[1]);
                assert!(known, "{}: there is no job {}", page.path, &found[1]);
            }
        }
    }

    #[test]
    fn every_job_of_the_workflow_exists() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate::paths::WORKFLOW);
        let named = workflow_jobs(&std::fs::read_to_string(file).unwrap());
        for name in &named {
            assert!(JOBS.iter().any(|job| job.name == name), "there is no job {name}");
        }
        for job in JOBS.iter().filter(|job| job.when == When::Always) {
            assert!(named.contains(&job.name.to_owned()), "the workflow does not run {}", job.name);
        }
    }

    #[test]
    fn jobs_of_the_workflow_are_those_of_its_matrix_and_commands() {
        let workflow = "      matrix:\n        include:\n          - jobs: fmt clippy\n          - jobs: test\n\
                        steps:\n  - run: cargo xtask ci msrv\n  - run: cargo xtask ci ${{ matrix.jobs }}\n";
        assert_eq!(workflow_jobs(workflow), ["fmt", "clippy", "test", "msrv"]);
    }

    /// The jobs that the workflow runs: the entries of its matrix, and the arguments of `cargo xtask ci` and `.ci/run`.
    fn workflow_jobs(workflow: &str) -> Vec<String> {
        let entries = regex(r"(?m)^ +- ?(?:jobs?: *)(.+)$");
        let commands = regex(r"(?:cargo xtask ci|\.ci/run) +([a-z0-9 -]+)");
        let lists = entries.captures_iter(workflow).chain(commands.captures_iter(workflow));
        let words =
            lists.flat_map(|found| found[1].split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        words.filter(|word| !word.starts_with("--")).collect()
    }
}
