//! Template 1: the files in `v1/`, and how they are extended.

use anyhow::{Context as _, Result, anyhow, ensure};

mod clusters;

use super::template::{Files, Template};
use super::{fit::fit, places, versions};
use crate::cli::project::description::{Addition, NewKind, Project, Scope, Webhook, record};
use crate::cli::project::names::Kind;
use crate::cli::project::source::{KUBE, Source, TESTSERVER, VERIFY};

pub(super) const TEMPLATE: Template = Template { number: 1, create, add };

/// What a new project has. Paths and texts have placeholders.
const PROJECT: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("v1/Cargo.toml.tmpl")),
    (".gitignore", include_str!("v1/gitignore.tmpl")),
    ("Dockerfile", include_str!("v1/Dockerfile.tmpl")),
    ("README.md", include_str!("v1/README.md.tmpl")),
    (".github/workflows/ci.yml", include_str!("v1/ci.yml.tmpl")),
    ("src/main.rs", include_str!("v1/src/main.rs.tmpl")),
    ("src/lib.rs", include_str!("v1/src/lib.rs.tmpl")),
    ("src/embedded.rs", include_str!("v1/src/embedded.rs.tmpl")),
];
const TESTS: [(&str, &str); 2] = [
    ("tests/operator.rs", include_str!("v1/tests/operator.rs.tmpl")),
    ("tests/verify.rs", include_str!("v1/tests/verify.rs.tmpl")),
];

/// What each kind has.
const KIND: [(&str, &str); 3] = [
    ("src/__MODULE__.rs", include_str!("v1/src/kind.rs.tmpl")),
    ("src/__MODULE__/reconcile.rs", include_str!("v1/src/reconcile.rs.tmpl")),
    ("tests/__MODULE__.rs", include_str!("v1/tests/kind.rs.tmpl")),
];

const WEBHOOKS: (&str, &str) = ("src/webhooks.rs", include_str!("v1/src/webhooks.rs.tmpl"));
const VALIDATE: (&str, &str) = ("src/__MODULE__/validate.rs", include_str!("v1/src/validate.rs.tmpl"));
const VERSION: &str = include_str!("v1/tests/version.rs.tmpl");
const MUTATE: (&str, &str) = ("src/__MODULE__/mutate.rs", include_str!("v1/src/mutate.rs.tmpl"));

fn create(project: &Project) -> Files {
    let values = values(project, &project.first);
    let all = PROJECT.iter().chain(&TESTS).chain(&KIND);
    all.map(|file| fill(file, &values)).collect()
}

fn add(project: &Project, addition: &Addition, files: &mut Files) -> Result<()> {
    let mut edits = Edits { files };
    match addition {
        Addition::Kind(new) => add_kind(project, new, &mut edits)?,
        Addition::Version { kind, version } => add_version(project, kind, version, &mut edits)?,
        Addition::Webhook { kind, webhook } => add_webhook(project, kind, *webhook, &mut edits)?,
    }
    edits.edit(
        "Cargo.toml",
        "[package.metadata.cargo-kube] with the list `added`",
        &format!("{:?}", addition.to_string()),
        |text| record(text, addition),
    )
}

fn add_kind(project: &Project, new: &NewKind, edits: &mut Edits<'_>) -> Result<()> {
    let module = new.kind.module();
    let values = values(project, new);
    for file in &KIND {
        edits.create(fill(file, &values))?;
    }
    edits.module("src/lib.rs", &module)?;
    edits.statement(
        "src/lib.rs",
        "manager",
        &format!("manager = {module}::reconcile::add_to(manager, &client);"),
    )?;
    edits.statement("src/lib.rs", "manifests", &format!("manifests = manifests.crd({module}::crd()?);"))?;
    edits.statement("src/lib.rs", "manifests", &format!("manifests = manifests.sample(&{module}::sample());"))
}

fn add_webhook(project: &Project, kind: &Kind, webhook: Webhook, edits: &mut Edits<'_>) -> Result<()> {
    let (module, values) = (kind.module(), kind_values(project, kind)?);
    serve(project, edits)?;
    // One configuration has the webhooks of all kinds.
    let is_first = !project.has_webhook(|_, other| other == webhook);
    let (file, configuration) = match webhook {
        Webhook::Validate => (VALIDATE, "validating"),
        Webhook::Mutate => (MUTATE, "mutating"),
    };
    edits.create(fill(&file, &values))?;
    edits.module(&format!("src/{module}.rs"), &webhook.to_string())?;
    let handler = format!("webhooks = webhooks.{webhook}(crate::{module}::{webhook}::{webhook});");
    edits.statement(WEBHOOKS.0, "webhooks", &handler)?;
    if is_first {
        let line = format!("certificates = certificates.{configuration}(NAME);");
        edits.statement(WEBHOOKS.0, "certificates", &line)?;
    }
    Ok(())
}

fn add_version(project: &Project, kind: &Kind, version: &str, edits: &mut Edits<'_>) -> Result<()> {
    let (module, path) = (kind.module(), format!("src/{}.rs", kind.module()));
    let known = project.versions(kind)?;
    let last = known.last().context("invariant: a kind has a version")?.clone();
    let text = edits.text(&path)?;
    let unsuitable = |expected| anyhow!("{path}: version {last}: expected {expected}");
    let (spec, end) = versions::read(&text, kind.as_str(), &last).map_err(unsuitable)?;
    let copy = spec.module(kind.as_str(), &last, version);
    let copy = copy.ok_or_else(|| unsuitable("#[kube(version = ..)] and an import"))?;
    edits.set(&path, format!("{}\n\n{copy}{}", &text[..end], &text[end..]));

    edits.edit(
        &path,
        &format!("`pub use {last}::{kind};`"),
        &format!("pub use {version}::{kind};"),
        |text| places::reexport(text, kind.as_str(), &last, version),
    )?;
    let element = format!("{version}::{kind}::crd()");
    edits.edit(&path, "a function `crd` with the list of versions, `vec![..]`", &element, |text| {
        places::element(text, "crd", &element)
    })?;
    // Without it, the new version would be stored at once.
    let stored = format!("pub const STORED: &str = {last:?};\n    merge_crds(versions, STORED)");
    edits.edit(&path, "a constant `STORED`, which `crd` gives to `merge_crds`", &stored, |text| {
        places::has_constant(text, "STORED").then(|| text.to_owned())
    })?;
    serve(project, edits)?;
    let mut text = edits.text(&path)?;
    if known.len() == 1 {
        text.push_str(&format!(
            "
/// The conversions between all versions, by way of that of `{kind}`.
pub fn versions() -> kube::operator::webhook::Versions<{kind}> {{
    let mut versions = kube::operator::webhook::Versions::new();
    versions = versions.version::<{last}::{kind}>();
    versions
}}
"
        ));
        edits.set(&path, text);
        let convert = format!("webhooks = webhooks.convert(crate::{module}::versions());");
        edits.statement(WEBHOOKS.0, "webhooks", &convert)?;
        let name = format!("{}.{}", kind.plural(), project.group);
        edits.statement(
            WEBHOOKS.0,
            "certificates",
            &format!("certificates = certificates.crd({name:?});"),
        )?;
    } else {
        edits.statement(&path, "versions", &format!("versions = versions.version::<{last}::{kind}>();"))?;
    }
    let mut text = edits.text(&path)?;
    text.push_str(&spec.conversions(kind.as_str(), &last, version));
    // Older ones by way of the last one.
    for older in known.iter().rev().skip(1) {
        text.push_str(&by_way_of(kind, older, &last, version));
        text.push_str(&by_way_of(kind, version, &last, older));
    }
    edits.set(&path, text);

    let mut values = kind_values(project, kind)?;
    values.push(("OLD", last.clone()));
    let path = format!("tests/{module}_{last}.rs");
    edits.create(fill(&(path.as_str(), VERSION), &values))
}

fn by_way_of(kind: &Kind, from: &str, over: &str, to: &str) -> String {
    format!(
        "
impl From<{from}::{kind}> for {to}::{kind} {{
    fn from(object: {from}::{kind}) -> Self {{
        {over}::{kind}::from(object).into()
    }}
}}
"
    )
}

/// The operator serves webhooks, from the first one on.
fn serve(project: &Project, edits: &mut Edits<'_>) -> Result<()> {
    if project.serves_webhooks() {
        return Ok(());
    }
    edits.create(fill(&WEBHOOKS, &[]))?;
    edits.module("src/lib.rs", "webhooks")?;
    edits.statement("src/lib.rs", "manager", "let certificates = webhooks::certificates(&client);")?;
    let serve = "manager = manager.webhooks(addresses.webhooks, certificates, webhooks::webhooks());";
    edits.statement("src/lib.rs", "manager", serve)
}

/// Changes of files, in memory.
struct Edits<'a> {
    files: &'a mut Files,
}

impl Edits<'_> {
    fn text(&self, path: &str) -> Result<String> {
        self.files
            .get(path)
            .cloned()
            .with_context(|| format!("{path}: expected this file, which the project began with"))
    }

    fn set(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    fn create(&mut self, (path, text): (String, String)) -> Result<()> {
        ensure!(!self.files.contains_key(&path), "{path}: exists already; expected no file of this name");
        self.files.insert(path, text);
        Ok(())
    }

    fn edit(
        &mut self,
        path: &str,
        place: &str,
        lines: &str,
        edit: impl FnOnce(&str) -> Option<String>,
    ) -> Result<()> {
        let text = self.text(path)?;
        let changed = edit(&text).with_context(|| {
            format!(
                "{path}: expected {place}; nothing was changed. Add this there by hand, and run the command again:\n    {lines}"
            )
        })?;
        self.set(path, changed);
        Ok(())
    }

    fn module(&mut self, path: &str, name: &str) -> Result<()> {
        let line = format!("pub mod {name};");
        self.edit(path, "a line such as `pub mod reconcile;`", &line, |text| places::module(text, name))
    }

    fn statement(&mut self, path: &str, function: &str, line: &str) -> Result<()> {
        let place = format!("a function `{function}` whose last line is an expression");
        self.edit(path, &place, line, |text| places::statement(text, function, line))
    }
}

type Values = Vec<(&'static str, String)>;

/// Replaces the placeholders of a path and a text.
fn fill((path, text): &(&str, &str), values: &[(&'static str, String)]) -> (String, String) {
    let fill = |text: &str| {
        values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("__{name}__"), value))
    };
    let (path, text) = (fill(path), fill(text));
    let text = if path.ends_with(".rs") { fit(&text) } else { text };
    (path, text)
}

fn kind_values(project: &Project, kind: &Kind) -> Result<Values> {
    let new = project.kinds().find(|it| it.kind == *kind);
    Ok(values(project, new.context("invariant: the kind was checked")?))
}

fn values(project: &Project, new: &NewKind) -> Values {
    let Project { name, group, source, template, clusters, .. } = project;
    let NewKind { kind, version, scope } = new;
    let namespaced = *scope == Scope::Namespaced;
    let either = |of_namespaced: &str, of_cluster: &str| {
        if namespaced { of_namespaced.to_owned() } else { of_cluster.to_owned() }
    };
    let object = either(
        "    let namespace = object.namespace().unwrap_or_default();\n    \
         let objects: Api<__KIND__> = Api::namespaced(context.client.clone(), &namespace);\n",
        "    let objects: Api<__KIND__> = Api::all(context.client.clone());\n",
    );
    let of_clusters = clusters::values(*clusters);
    let of_project = vec![
        ("API_OF_OBJECT", object),
        ("MAP_NAMESPACE", either("", "\n            namespace: client.default_namespace(),")),
        ("ALL_NAMESPACES", either(" --all-namespaces", "")),
        ("NAMESPACED", either(", namespaced", "")),
        ("MAPS", either("all", "default_namespaced")),
        ("OBJECTS", either("default_namespaced", "all")),
        ("NAME", name.clone()),
        ("CRATE", name.replace('-', "_")),
        ("TEMPLATE", template.to_string()),
        ("GROUP", group.clone()),
        ("KIND", kind.to_string()),
        ("MODULE", kind.module()),
        ("LOWER", kind.lower()),
        ("PLURAL", kind.plural()),
        ("VERSION", version.clone()),
        ("SCOPE", scope.to_string()),
        ("SOURCE_OF_KUBE", source.dependency(KUBE)),
        ("SOURCE_OF_TESTSERVER", source.dependency(TESTSERVER)),
        ("SOURCE_OF_VERIFY", source.dependency(VERIFY)),
        ("DOCKER_BUILD", docker_build(name, source)),
        ("DOCKER_SOURCE", docker_source(name, source)),
        ("CI_SOURCE", ci_source(source)),
    ];
    of_clusters.into_iter().chain(of_project).collect()
}

/// The command that builds the image. A checkout on this machine is a second context.
fn docker_build(name: &str, source: &Source) -> String {
    match source.local() {
        Some(path) => format!("docker build --build-context kube={path:?} -t {name}:0.1.0 ."),
        None => format!("docker build -t {name}:0.1.0 ."),
    }
}

fn docker_source(name: &str, source: &Source) -> String {
    let Some(path) = source.in_image(&format!("/src/{name}")) else { return String::new() };
    let copy = |from: &str, to: &str| format!("COPY --from=kube [{from:?}, {to:?}]\n");
    match source {
        // Cargo fetches from the repository.
        Source::Git { .. } => copy(".", &format!("{path}/")),
        Source::Path(_) => {
            let folders = ["crates", "testserver"].map(|folder| copy(folder, &format!("{path}/{folder}")));
            copy("Cargo.toml", &format!("{path}/")) + &folders.concat()
        }
    }
}

fn ci_source(source: &Source) -> String {
    source.local().map_or_else(String::new, |path| {
        format!("      # The project depends on {path}: check kube out there before the next steps.\n")
    })
}
