//! Every path of the repository that a job names, in one place.

/// The workspaces, each with a lock file of its own.
pub(crate) const WORKSPACES: [&str; 3] = ["Cargo.toml", "bench/Cargo.toml", "fuzz/Cargo.toml"];
/// Folders with Rust code, below which `facts` looks for items and tests.
pub(crate) const SOURCE_FOLDERS: [&str; 8] =
    ["crates", "testserver", "e2e", "examples", "bench", "fuzz", "guard", "xtask"];

/// The crate that builds of single crates select beside them: xtask/shared-build/Cargo.toml says what for.
pub(crate) const SHARED_BUILD: &str = "-p shared-build";

pub(crate) const BOOK: &str = "book";
pub(crate) const BOOK_PAGES: &str = "book/src";
/// Pages that lead through the code, file by file.
pub(crate) const WALKS: [&str; 3] =
    ["book/src/explanation/event.md", "book/src/explanation/request.md", "book/src/explanation/write.md"];
/// The page that says which folder has what.
pub(crate) const ARCHITECTURE: &str = "book/src/explanation/architecture.md";
/// The tests of the programs that the book includes.
pub(crate) const BOOK_SAMPLES: [&str; 2] = ["--test", "book"];
/// Definitions with every feature that `cargo kube gen` knows, and samples.
pub(crate) const DIFFICULT: &str = "crates/cargo-kube/tests/difficult/crds";
/// What each step of the tutorial changes in a project of `cargo kube new`.
pub(crate) const TUTORIAL: &str = "examples/book/tutorial";
/// The reason for every dependency.
pub(crate) const DEPENDENCY_LIST: &str = "docs/design/dependencies.md";
/// Pages that state the minimum Rust version, besides those of the book.
pub(crate) const RUST_VERSION_PAGES: [&str; 1] = ["README.md"];
/// The screenshot that `debug-page --update` replaces.
pub(crate) const SCREENSHOT: &str = "book/src/images/debug-page.png";

pub(crate) const SURFACE: &str = "xtask/data/surface.txt";
pub(crate) const SHARED_FEATURES: &str = "xtask/data/shared-features.txt";
/// Circles of files that are in the nature of their task.
pub(crate) const RECURSIONS: &str = "xtask/data/recursions.txt";
pub(crate) const WORDS: &str = "xtask/data/words.txt";
/// Versions and checksums of mdBook, for pip.
pub(crate) const MDBOOK: &str = "xtask/data/mdbook.txt";
#[cfg(test)]
pub(crate) const WORKFLOW: &str = ".github/workflows/ci.yml";

pub(crate) const BASELINE: &str = "guard/baseline.txt";
pub(crate) const DASHBOARD: &str = "crates/kube-operator/src/manifests/grafana-dashboard.json";
pub(crate) const RULES: &str = "deploy/prometheus-rules.yaml";
pub(crate) const RULES_TEST: &str = "deploy/prometheus-rules-test.yaml";

/// The generated manifests of the example operator.
pub(crate) const MANIFESTS: &str = "examples/operator/deploy";

/// `kubectl` commands and what they print, for kubectl-smoke, foreign-pods and kubectl-compare.
pub(crate) const COMMANDS: &str = "testserver/foreign";
pub(crate) const PYPI_CLIENT: &str = "testserver/foreign/client.py";
pub(crate) const NPM_CLIENT: &str = "testserver/foreign/javascript";
/// In that folder.
pub(crate) const NPM_PROGRAM: &str = "client.js";
/// Go modules with definitions of custom resources.
pub(crate) const CATALOGUE: &str = "xtask/data/catalogue.txt";
/// A Go project with tests on envtest.
pub(crate) const KUBEBUILDER: &str = "testserver/foreign/kubebuilder";
/// The Go module whose tests the job controller-runtime runs.
pub(crate) const CONTROLLER_RUNTIME: &str = "testserver/foreign/controller-runtime";
/// The names of the end-to-end tests that the job official-e2e runs, in `sig-*.txt`.
pub(crate) const OFFICIAL_E2E: &str = "testserver/foreign/e2e";
/// Those of them that the embedded server does not pass.
pub(crate) const OFFICIAL_E2E_GAPS: &str = "testserver/foreign/e2e/gaps.txt";
pub(crate) const SUPPORT: &str = "testserver/server/support.md";
pub(crate) const SERVER_MANIFEST: &str = "testserver/server/Cargo.toml";
pub(crate) const PYTHON_EXAMPLE: &str = "examples/python";
/// Generated tables of the test server.
pub(crate) const TABLES: &str = "testserver/server/data";
/// From the Go modules of Kubernetes, by a generator in Go: the types, the tags on them, and objects to test protobuf with.
pub(crate) const KINDS: &str = "testserver/server/data/kinds.jsonl";
pub(crate) const GO_TYPES: &str = "testserver/server/data/gotypes.txt";
pub(crate) const TAGS: &str = "testserver/server/data/tags.txt";
pub(crate) const MESSAGE_SAMPLES: &str = "testserver/server/src/protobuf/recorded/samples.jsonl";
pub(crate) const QUANTITIES: &str = "crates/kube-core/src/quantity/recorded.txt";
pub(crate) const LABELS: &str = "crates/kube-core/src/labels/recorded.txt";
pub(crate) const GO_TYPES_GENERATOR: &str = "testserver/generators/gotypes";
pub(crate) const TABLES_GENERATOR: &str = "testserver/generators/tables.py";
/// Generated table of the client.
pub(crate) const MERGE_TYPES: &str = "crates/kube-core/src/apply/merge_types.tsv";
pub(crate) const MERGE_TYPES_GENERATOR: &str = "testserver/generators/merge_types.py";

/// Tools and genuine servers that are kept beside the checkout.
pub(crate) const APIDIFF: &str = "../shared/tools/apidiff/apidiff.py";
pub(crate) const REALAPI: &str = "../shared/realapi/realapi";
