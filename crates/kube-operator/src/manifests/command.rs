//! The subcommand `manifests` of a program: its arguments, and what it does.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use serde_json::json;

use super::{error::ManifestsError, folder::Written, forms::Form, settings::Manifests};

const DEFAULT_FOLDER: &str = "deploy";

/// The subcommand `manifests` of a program, which `cargo kube manifests`, `cargo kube rbac` and `cargo kube dev` call.
///
/// ```
/// use kube_client::Client;
/// use kube_operator::{
///     manager::Manager,
///     manifests::{Form, Manifests, ManifestsCommand, ManifestsError, offline_client},
/// };
///
/// fn manifests(namespace: &str) -> Manifests {
///     let manager = Manager::new(offline_client(namespace));
///     Manifests::new("checker", &manager).image("registry.example.com/checker:1.0.0")
/// }
///
/// // In `main`, with `std::env::args_os().skip(2)` if the first argument is `manifests`:
/// fn run(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Result<(), ManifestsError> {
///     let command = ManifestsCommand::parse(arguments)?;
///     let manifests = manifests(command.namespace().unwrap_or("checker"));
///     print!("{}", command.run(&manifests, [Form::Kustomize])?);
///     Ok(())
/// }
/// # let folder = tempfile::tempdir()?;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # run(["--form".into(), "yaml".into(), folder.path().into()]) })?;
/// # assert!(folder.path().join("install.yaml").exists());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestsCommand {
    action: Action,
    forms: Vec<Form>,
    namespace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Write(PathBuf),
    Check(PathBuf),
    /// Prints which part of the program needs which permissions.
    Needs,
}

impl ManifestsCommand {
    /// The arguments, for the help of a program.
    pub const USAGE: &str = "\
manifests [--check] [--form FORM]... [--namespace NAME] [FOLDER]
  FOLDER              write the manifests into this folder (deploy); only files that were generated before are replaced and removed
  --check             change nothing, and fail if the folder differs
  --form FORM         yaml, kustomize or helm; repeatable. Generated files of other forms are removed
  --namespace NAME    where the program is to run
  --needs             print which part of the program needs which permissions, as JSON, and write nothing";

    /// Reads the arguments behind `manifests`.
    ///
    /// # Errors
    /// [`ManifestsError::InvalidArgument`] for the first that is none.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, ManifestsError> {
        let (mut check, mut needs, mut forms, mut namespace, mut folder) =
            (false, false, Vec::new(), None, None);
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--check") => check = true,
                Some("--needs") => needs = true,
                Some(option @ "--form") => forms.push(form(option, arguments.next())?),
                Some(option @ "--namespace") => {
                    let name = arguments.next().and_then(|name| name.into_string().ok());
                    namespace = Some(name.ok_or_else(|| invalid(option, "a name"))?);
                }
                Some(option) if option.starts_with('-') => {
                    return Err(invalid(option, "--check, --form, --namespace or --needs"));
                }
                _ if folder.is_some() => return Err(invalid(argument, "one folder")),
                _ => folder = Some(PathBuf::from(argument)),
            }
        }
        let action = match (needs, folder) {
            (true, None) if !check => Action::Needs,
            (true, _) => return Err(invalid("--needs", "neither --check nor a folder beside it")),
            (false, folder) => {
                let folder = folder.unwrap_or_else(|| DEFAULT_FOLDER.into());
                if check { Action::Check(folder) } else { Action::Write(folder) }
            }
        };
        Ok(Self { action, forms, namespace })
    }

    /// Where the program is to run, if the arguments say it: the namespace of the client of the manager.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Writes or compares the manifests, in these forms unless the arguments name others. Returns what is to be printed on standard output.
    ///
    /// # Errors
    /// Those of [`Manifests::write`] and [`Manifests::check`].
    pub fn run(
        &self,
        manifests: &Manifests,
        forms: impl IntoIterator<Item = Form>,
    ) -> Result<String, ManifestsError> {
        let forms = if self.forms.is_empty() { forms.into_iter().collect() } else { self.forms.clone() };
        match &self.action {
            Action::Check(folder) => {
                manifests.check(folder, forms)?;
                Ok(format!("{} has the manifests of this program\n", folder.display()))
            }
            Action::Write(folder) => {
                let Written { written, removed } = manifests.write(folder, forms)?;
                let line = |what: &str, path: &String| format!("{what} {}\n", folder.join(path).display());
                let lines = written.iter().map(|path| line("wrote", path));
                let lines: String = lines.chain(removed.iter().map(|path| line("removed", path))).collect();
                let last = format!("{} is up to date\n", folder.display());
                Ok(if lines.is_empty() { last } else { lines })
            }
            Action::Needs => Ok(needs(manifests)),
        }
    }
}

/// A list of parts, each with the roles that it needs.
fn needs(manifests: &Manifests) -> String {
    let need = |need: super::Need| {
        let cluster_role = need.permissions.cluster_role(&manifests.name).map(|role| json!(role));
        let roles = need.permissions.roles(&manifests.name).into_iter().map(|role| json!(role));
        json!({ "part": need.part, "roles": cluster_role.into_iter().chain(roles).collect::<Vec<_>>() })
    };
    format!("{:#}\n", json!(manifests.needs().into_iter().map(need).collect::<Vec<_>>()))
}

fn form(option: &str, value: Option<OsString>) -> Result<Form, ManifestsError> {
    match value.as_deref().and_then(OsStr::to_str) {
        Some("yaml") => Ok(Form::Yaml),
        Some("kustomize") => Ok(Form::Kustomize),
        Some("helm") => Ok(Form::Helm),
        Some(other) => Err(invalid(format!("{option} {other}"), "yaml, kustomize or helm")),
        None => Err(invalid(option, "yaml, kustomize or helm")),
    }
}

fn invalid(argument: impl Into<OsString>, expected: &'static str) -> ManifestsError {
    ManifestsError::InvalidArgument { argument: argument.into().to_string_lossy().into_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{manager::Manager, manifests::offline_client};
    use serde_json::Value;

    fn parse(arguments: &[&str]) -> Result<ManifestsCommand, String> {
        ManifestsCommand::parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    fn manifests() -> Manifests {
        let client = offline_client("tools");
        let manager = Manager::new(client.clone()).leader_election("checker", "tools");
        let maps = kube_client::Api::<k8s_openapi::api::core::v1::ConfigMap>::all(client);
        Manifests::new("checker", &manager.writes(&maps, crate::manager::Writes::Finalizers))
    }

    #[test]
    fn arguments_are_read_or_named() {
        let command = parse(&["--form", "helm", "deploy", "--namespace", "tools", "--form", "yaml"]).unwrap();
        assert_eq!(command.namespace(), Some("tools"));
        assert_eq!(command.forms, [Form::Helm, Form::Yaml]);
        assert_eq!(command.action, Action::Write("deploy".into()));
        assert_eq!(parse(&["a", "--check"]).unwrap().action, Action::Check("a".into()));
        assert_eq!(parse(&[]).unwrap().action, Action::Write("deploy".into()));
        assert_eq!(parse(&["--needs"]).unwrap().action, Action::Needs);
        for (arguments, expected) in [
            (&["a", "b"][..], "b: expected one folder"),
            (&["--form", "json"], "--form json: expected yaml, kustomize or helm"),
            (&["a", "--form"], "--form: expected yaml, kustomize or helm"),
            (&["a", "--namespace"], "--namespace: expected a name"),
            (&["--force"], "--force: expected --check, --form, --namespace or --needs"),
            (&["--needs", "a"], "--needs: expected neither --check nor a folder beside it"),
            (&["--needs", "--check"], "--needs: expected neither --check nor a folder beside it"),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), expected);
        }
    }

    #[tokio::test]
    async fn files_are_written_then_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deploy");
        let run = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from).chain([path.clone().into()]);
            ManifestsCommand::parse(arguments).unwrap().run(&manifests(), [Form::Kustomize])
        };
        run(&["--check"]).unwrap_err();
        let printed = run(&[]).unwrap();
        let below =
            |path: &str| path.replace("deploy/", &format!("{}/", folder.path().join("deploy").display()));
        assert!(
            printed.starts_with(&below("wrote deploy/base/")) && !printed.contains("up to date"),
            "{printed}"
        );
        assert_eq!(run(&[]).unwrap(), format!("{} is up to date\n", folder.path().join("deploy").display()));
        assert!(run(&["--check"]).unwrap().ends_with("deploy has the manifests of this program\n"));
        let printed = run(&["--form", "yaml"]).unwrap();
        assert!(printed.contains(&below("wrote deploy/install.yaml\nremoved deploy/base/")), "{printed}");
        run(&["--check"]).unwrap_err();
    }

    #[tokio::test]
    async fn needs_are_printed_by_part() {
        let text = parse(&["--needs"]).unwrap().run(&manifests(), []).unwrap();
        let needs: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(needs[0]["part"], "Manager::writes of configmaps, Writes::Finalizers");
        assert_eq!(needs[0]["roles"][0]["kind"], "ClusterRole");
        assert_eq!(needs[0]["roles"][0]["rules"][0]["verbs"], json!(["get", "patch"]));
        assert_eq!(needs[1]["part"], "leader election");
        assert_eq!(needs[1]["roles"][0]["metadata"]["namespace"], "tools");
        assert_eq!(needs.as_array().unwrap().len(), 2);
    }
}
