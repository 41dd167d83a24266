//! Parses the command line.

use std::{
    ffi::{OsStr, OsString},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use kube_testserver::AdmissionPlugin;

pub(crate) const USAGE: &str = "\
A Kubernetes API server for development and tests, in one process.

  kube-testserver [--port N] [--data DIR] [options]
  kube-testserver assets DIR

  --port N           listen on this port; 0 takes a free one (6443)
  --bind-address IP  listen on this address (127.0.0.1); 0.0.0.0 is every address. Whoever reaches it may do everything, unless
                     there is --rbac
  --san NAME         with --tls: the server certificate is also valid for this DNS name or IP address; repeatable
  --data DIR         keep the state in DIR across restarts; without it, the state ends with the process
  --sync             with --data: respond to a write only when the disk has it
  --objects PATH     load the objects (CRDs included) of a YAML or JSON file or directory; repeatable
  --kubeconfig FILE  write the kubeconfig to FILE (default: DIR/kubeconfig; without --data, a file in the temporary directory)
  --tls              serve TLS with a generated CA
  --rbac             authenticate users and enforce RBAC; the kubeconfig is for an administrator
  --runtime-config ENTRIES
                     switch API versions on or off, such as api/beta=true or coordination.k8s.io/v1beta1; repeatable. By default only
                     stable versions are served
  --without-pods     no node runs pods, workloads create none, and services have no endpoints; by default all do
  --without-kubelet  workloads such as Deployments create pods, but no node runs them
  --service-accounts create a service account and a ConfigMap with the CA certificate in every namespace
  --disable-admission-plugins NAMES
                     switch admission plugins off, such as Priority,DefaultStorageClass; all are on by default; repeatable
  --listen PORT=ADDR forward PORT of every pod to ADDR, such as 8080=127.0.0.1:3000; repeatable
  -v, --verbose      log every request to standard error
  -V, --version      print the version
  -h, --help         print this

`assets` writes a folder for the tests of Go projects, which start `kube-apiserver` and `etcd` from the folder in KUBEBUILDER_ASSETS:
export KUBEBUILDER_ASSETS=$(kube-testserver assets DIR). `DIR/kube-apiserver --help` says which of its flags are known.

Prints the path of the kubeconfig to standard output once the server is ready. SIGINT and SIGTERM stop it cleanly.
Exit code: 0 stopped by a signal, 1 failed to serve, 2 invalid arguments.";

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Serve(Box<Args>),
    /// Write the folder for `KUBEBUILDER_ASSETS`.
    Assets(PathBuf),
    Help,
    Version,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) port: u16,
    pub(crate) bind_address: IpAddr,
    /// Further names of the server certificate.
    pub(crate) sans: Vec<String>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) sync: bool,
    pub(crate) objects: Vec<PathBuf>,
    pub(crate) kubeconfig: Option<PathBuf>,
    /// API versions that are switched on or off.
    pub(crate) runtime_config: Vec<String>,
    pub(crate) tls: bool,
    pub(crate) rbac: bool,
    pub(crate) without_pods: bool,
    pub(crate) without_kubelet: bool,
    pub(crate) service_accounts: bool,
    pub(crate) disabled_plugins: Vec<AdmissionPlugin>,
    /// Ports of pods and the addresses they forward to.
    pub(crate) listen: Vec<(u16, SocketAddr)>,
    pub(crate) verbose: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            port: 6443,
            bind_address: Ipv4Addr::LOCALHOST.into(),
            sans: Vec::new(),
            data: None,
            sync: false,
            objects: Vec::new(),
            kubeconfig: None,
            runtime_config: Vec::new(),
            tls: false,
            rbac: false,
            without_pods: false,
            without_kubelet: false,
            service_accounts: false,
            disabled_plugins: Vec::new(),
            listen: Vec::new(),
            verbose: false,
        }
    }
}

pub(crate) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut out = Args::default();
    while let Some(arg) = args.next() {
        let (flag, value) = flag_and_value(&arg, &mut args)?;
        match flag.as_str() {
            "-V" | "--version" => return Ok(Command::Version),
            "-h" | "--help" => return Ok(Command::Help),
            "assets" if out == Args::default() => return assets(args),
            flag => out.set(flag, &value)?,
        }
    }
    if !out.sans.is_empty() && !out.tls {
        return Err("--san needs --tls".to_owned());
    }
    if out.sync && out.data.is_none() {
        return Err("--sync needs --data".to_owned());
    }
    Ok(Command::Serve(Box::new(out)))
}

/// A flag and its value, which is empty if the flag takes none. `--flag=value` is the same as `--flag value`.
fn flag_and_value(
    arg: &OsStr,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<(String, OsString), String> {
    let text = arg.to_string_lossy().into_owned();
    let (flag, inline) = match text.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(OsString::from(value))),
        _ => (text, None),
    };
    let value = match (takes_value(&flag), inline) {
        (true, inline) => inline.or_else(|| rest.next()),
        (false, Some(_)) => return Err(format!("{flag} takes no value")),
        (false, None) => return Ok((flag, OsString::new())),
    };
    // An empty path is the current directory, which a script with an unset variable does not mean.
    match value.filter(|value| !value.is_empty()) {
        Some(value) => Ok((flag, value)),
        None => Err(format!("{flag} needs a value")),
    }
}

fn takes_value(flag: &str) -> bool {
    matches!(
        flag,
        "--port"
            | "--bind-address"
            | "--san"
            | "--data"
            | "--objects"
            | "--kubeconfig"
            | "--runtime-config"
            | "--listen"
            | "--disable-admission-plugins"
    )
}

impl Args {
    fn set(&mut self, flag: &str, value: &OsStr) -> Result<(), String> {
        let text = value.to_string_lossy();
        match flag {
            "--port" => {
                let wrong = |_| format!("--port: expected a number from 0 to 65535, got {text:?}");
                self.port = text.parse().map_err(wrong)?;
            }
            "--bind-address" => {
                let wrong =
                    |_| format!("--bind-address: expected an IP address, such as 0.0.0.0, got {text:?}");
                self.bind_address = text.parse().map_err(wrong)?;
            }
            "--san" => self.sans.push(text.into_owned()),
            "--data" => self.data = Some(value.into()),
            "--sync" => self.sync = true,
            "--objects" => self.objects.push(value.into()),
            "--kubeconfig" => self.kubeconfig = Some(value.into()),
            "--runtime-config" => self.runtime_config.push(text.into_owned()),
            "--tls" => self.tls = true,
            "--rbac" => self.rbac = true,
            "--without-pods" => self.without_pods = true,
            "--without-kubelet" => self.without_kubelet = true,
            "--service-accounts" => self.service_accounts = true,
            "--disable-admission-plugins" => {
                for name in text.split(',') {
                    self.disabled_plugins.push(name.parse().map_err(|why| format!("{flag}: {why}"))?);
                }
            }
            "--listen" => {
                let wrong = || {
                    format!("--listen: expected PORT=ADDRESS:PORT, such as 8080=127.0.0.1:3000, got {text:?}")
                };
                self.listen.push(listening(&text).ok_or_else(wrong)?);
            }
            "-v" | "--verbose" => self.verbose = true,
            other => return Err(format!("unknown argument {other:?}")),
        }
        Ok(())
    }
}

fn assets(mut args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    match (args.next().filter(|folder| !folder.is_empty()), args.next()) {
        (Some(help), None) if help == "--help" => Ok(Command::Help),
        (Some(folder), None) => Ok(Command::Assets(folder.into())),
        _ => Err("assets: expected one folder, such as `kube-testserver assets target/assets`".to_owned()),
    }
}

fn listening(text: &str) -> Option<(u16, SocketAddr)> {
    let (port, address) = text.split_once('=')?;
    Some((port.parse().ok().filter(|port| *port > 0)?, address.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn arguments_are_read_or_refused_with_a_reason() {
        let all = "--port 0 --data=d --objects a --objects=b --kubeconfig k --tls --rbac --without-pods --without-kubelet --sync -v \
                   --runtime-config api/beta=true --runtime-config=a/b --bind-address ::1 --san a.b --san=192.0.2.1 --service-accounts --disable-admission-plugins=Priority,DefaultStorageClass --listen 80=127.0.0.1:3000 --listen=81=[::1]:1";
        let expected = Args {
            port: 0,
            bind_address: "::1".parse().unwrap(),
            sans: vec!["a.b".into(), "192.0.2.1".into()],
            data: Some("d".into()),
            sync: true,
            objects: vec!["a".into(), "b".into()],
            kubeconfig: Some("k".into()),
            runtime_config: vec!["api/beta=true".into(), "a/b".into()],
            tls: true,
            rbac: true,
            without_pods: true,
            without_kubelet: true,
            service_accounts: true,
            disabled_plugins: vec![AdmissionPlugin::Priority, AdmissionPlugin::DefaultStorageClass],
            listen: vec![(80, "127.0.0.1:3000".parse().unwrap()), (81, "[::1]:1".parse().unwrap())],
            verbose: true,
        };
        assert_eq!(parsed(all), Ok(Command::Serve(Box::new(expected))));
        assert_eq!(parsed(""), Ok(Command::Serve(Box::default())));
        assert_eq!(parsed("assets d"), Ok(Command::Assets("d".into())));
        assert_eq!((parsed("--tls --help"), parsed("-V")), (Ok(Command::Help), Ok(Command::Version)));
        for (line, problem) in [
            ("--port", "--port needs a value"),
            ("--data=", "--data needs a value"),
            ("--port 70000", "--port: expected a number from 0 to 65535, got \"70000\""),
            (
                "--disable-admission-plugins Priority,Foo",
                "--disable-admission-plugins: unknown admission plugin \"Foo\": expected one of LimitRanger, ServiceAccount, Priority, \
                 DefaultTolerationSeconds, DefaultStorageClass, RuntimeClass, DefaultIngressClass, MutatingAdmissionPolicy, \
                 MutatingAdmissionWebhook, ValidatingAdmissionPolicy, ValidatingAdmissionWebhook, ResourceQuota",
            ),
            ("--tls=1", "--tls takes no value"),
            (
                "--bind-address localhost",
                "--bind-address: expected an IP address, such as 0.0.0.0, got \"localhost\"",
            ),
            ("--san a.b", "--san needs --tls"),
            ("--sync", "--sync needs --data"),
            ("--listen 80", "--listen: expected PORT=ADDRESS:PORT, such as 8080=127.0.0.1:3000, got \"80\""),
            (
                "--listen 0=127.0.0.1:1",
                "--listen: expected PORT=ADDRESS:PORT, such as 8080=127.0.0.1:3000, got \"0=127.0.0.1:1\"",
            ),
            ("--prot 1", "unknown argument \"--prot\""),
            ("serve", "unknown argument \"serve\""),
            ("assets", "assets: expected one folder, such as `kube-testserver assets target/assets`"),
            ("assets a b", "assets: expected one folder, such as `kube-testserver assets target/assets`"),
            ("--tls assets d", "unknown argument \"assets\""),
        ] {
            assert_eq!(parsed(line), Err(problem.to_string()));
        }
    }

    #[test]
    fn the_usage_names_every_argument() {
        for flag in [
            "--port",
            "--bind-address",
            "--san",
            "--data",
            "--sync",
            "--objects",
            "--kubeconfig",
            "--runtime-config",
            "--tls",
            "--rbac",
            "--without-pods",
            "--without-kubelet",
            "--service-accounts",
            "--disable-admission-plugins",
            "--listen",
            "-v",
            "-V",
            "-h",
        ] {
            assert!(USAGE.contains(&format!("  {flag}")), "{flag}");
        }
    }
}
