//! The flags of `kube-apiserver`: those with an effect, those without, and the admission plugins by name.

use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use kube_testserver::AdmissionPlugin;

use crate::{
    etcd,
    flags::{self, Kind},
};

const USAGE: &str = "\
The API server of kube-testserver with the flags of kube-apiserver that Go's envtest uses, and without controllers, as there.

  --etcd-servers URL              the etcd of kube-testserver, in whose directory the state is
  --bind-address IP               listen on this address (127.0.0.1)
  --secure-port N                 listen on this port (6443)
  --cert-dir DIR                  serve TLS with DIR/apiserver.crt and DIR/apiserver.key, made if missing (/var/run/kubernetes)
  --tls-cert-file FILE            serve TLS with this certificate
  --tls-private-key-file FILE     and this key
  --client-ca-file FILE           authenticate client certificates of these CAs
  --authorization-mode MODES      RBAC, or AlwaysAllow (AlwaysAllow); Node beside RBAC has no effect
  --service-account-issuer URL    the issuer of service account tokens, and their default audience; the first one is taken
  --service-account-signing-key-file FILE  the ECDSA P-256 key that signs them
  --service-cluster-ip-range CIDR  the addresses of services, IPv4 (10.0.0.0/8)
  --runtime-config ENTRIES        switch API versions on or off
  --disable-admission-plugins NAMES  switch admission plugins off; those that this server lacks are off already
  --enable-admission-plugins NAMES   only plugins that are on by default on kube-apiserver
  --http2-max-streams-per-connection N  (250)
  -v, --v N                       3 and more: log every request to standard error
  --version                       print the version
  -h, --help                      print this

Without effect:";

const CERTIFICATE: &str = "tls-cert-file";
const KEY: &str = "tls-private-key-file";

/// They are about the storage, the cost, the logs, the addresses and the keys of a server, which clients do not see, and about what this
/// server does not have.
const IGNORED: &str = "advertise-address allow-privileged api-audiences audit-log-format audit-log-maxage audit-log-maxbackup \
    audit-log-maxsize audit-log-mode audit-log-path audit-policy-file contention-profiling \
    delete-collection-workers enable-aggregator-routing enable-garbage-collector \
    enable-priority-and-fairness endpoint-reconciler-type etcd-cafile etcd-certfile etcd-compaction-interval \
    etcd-count-metric-poll-period etcd-healthcheck-timeout etcd-keyfile etcd-prefix event-ttl \
    external-hostname feature-gates goaway-chance kubelet-client-certificate kubelet-client-key \
    kubelet-preferred-address-types livez-grace-period log-flush-frequency logging-format \
    max-mutating-requests-inflight max-requests-inflight min-request-timeout permit-port-sharing profiling \
    proxy-client-cert-file proxy-client-key-file request-timeout requestheader-allowed-names \
    requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers \
    requestheader-username-headers service-account-extend-token-expiration service-account-jwks-uri \
    service-account-key-file service-account-lookup service-account-max-token-expiration \
    service-node-port-range shutdown-delay-duration storage-backend \
    storage-media-type tls-cipher-suites tls-min-version vmodule watch-cache watch-cache-sizes";
/// Those of them that need no value.
const SWITCHES: &str = "allow-privileged contention-profiling enable-aggregator-routing enable-garbage-collector \
    enable-priority-and-fairness permit-port-sharing profiling service-account-extend-token-expiration \
    service-account-lookup watch-cache";

/// Flags with an effect that have a value.
const USED: &str = "authorization-mode bind-address cert-dir client-ca-file disable-admission-plugins \
    enable-admission-plugins etcd-servers http2-max-streams-per-connection runtime-config secure-port \
    service-account-issuer service-account-signing-key-file service-cluster-ip-range tls-cert-file tls-private-key-file v";

/// Plugins of kube-apiserver 1.37 that are on by default and whose effect this server always has.
const FIXED: [&str; 2] = ["NamespaceLifecycle", "StorageObjectInUseProtection"];
/// Plugins of kube-apiserver 1.37 that are on by default and that this server lacks; no controller creates service accounts here.
const LACKING: &str = "CertificateApproval CertificateSigning CertificateSubjectRestriction ClusterTrustBundleAttest \
    NodeDeclaredFeatureValidator PersistentVolumeClaimResize PodGroupProtection PodResizeValidator \
    PodSecurity PodTopologyLabels ServiceAccount TaintNodesByCondition";
/// Plugins of kube-apiserver 1.37 that are off by default. This server has none of them.
const OFF: &str = "AlwaysAdmit AlwaysDeny AlwaysPullImages DenyServiceExternalIPs EventRateLimit ExtendedResourceToleration \
    ImagePolicyWebhook LimitPodHardAntiAffinityTopology NamespaceAutoProvision NamespaceExists \
    NodeRestriction OwnerReferencesPermissionEnforcement PodNodeSelector PodTolerationRestriction";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Serve(Box<Args>),
    Print(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    /// Host and port.
    pub(crate) etcd: String,
    pub(crate) bind_address: IpAddr,
    pub(crate) port: u16,
    pub(crate) cert_dir: PathBuf,
    /// Certificate and key, instead of those in `cert_dir`.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) rbac: bool,
    /// Of service account tokens.
    pub(crate) issuer: Option<String>,
    pub(crate) token_key: Option<PathBuf>,
    pub(crate) runtime_config: Vec<String>,
    pub(crate) service_range: Option<String>,
    pub(crate) disabled_plugins: Vec<AdmissionPlugin>,
    pub(crate) streams: Option<u32>,
    pub(crate) verbose: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            etcd: String::new(),
            bind_address: Ipv4Addr::LOCALHOST.into(),
            port: 6443,
            cert_dir: "/var/run/kubernetes".into(),
            certificate: None,
            client_ca: None,
            rbac: false,
            issuer: None,
            token_key: None,
            runtime_config: Vec::new(),
            service_range: None,
            disabled_plugins: Vec::new(),
            streams: None,
            verbose: false,
        }
    }
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut out = Args::default();
    let (mut certificate, mut key) = (None, None);
    for (name, value) in flags::read(args, kind)? {
        match name.as_str() {
            "etcd-servers" => out.etcd = etcd::host(&value).map_err(|why| format!("--{name}: {why}"))?,
            "bind-address" => out.bind_address = number(&name, &value, "an IP address")?,
            "secure-port" => out.port = number(&name, &value, "a port")?,
            "cert-dir" => out.cert_dir = value.into(),
            CERTIFICATE => certificate = Some(value.into()),
            KEY => key = Some(value.into()),
            "client-ca-file" => out.client_ca = Some(value.into()),
            "authorization-mode" => out.rbac = is_rbac(&value)?,
            // kube-apiserver accepts tokens of every issuer that is given, and issues them as the first.
            "service-account-issuer" => out.issuer = out.issuer.or(Some(value)),
            "service-account-signing-key-file" => out.token_key = Some(value.into()),
            "service-cluster-ip-range" => out.service_range = Some(value),
            "runtime-config" => out.runtime_config.push(value),
            "disable-admission-plugins" => {
                for plugin in value.split(',') {
                    out.disabled_plugins.extend(disabled(plugin)?);
                }
            }
            "enable-admission-plugins" => value.split(',').try_for_each(enabled)?,
            "http2-max-streams-per-connection" => {
                out.streams = Some(number(&name, &value, "a number")?).filter(|streams| *streams > 0);
            }
            "insecure-port" if value != "0" => {
                return Err(format!(
                    "--{name}: expected 0, as kube-apiserver has none since 1.24, got {value:?}"
                ));
            }
            "v" => out.verbose = number::<u32>(&name, &value, "a number")? >= 3,
            "h" | "help" => return Ok(Command::Print(format!("{USAGE}{}", flags::help(IGNORED)))),
            "version" => {
                let version = format!("kube-apiserver of kube-testserver {}", env!("CARGO_PKG_VERSION"));
                return Ok(Command::Print(version));
            }
            _ => {}
        }
    }
    out.certificate = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(format!("--{CERTIFICATE} and --{KEY} need each other")),
    };
    if out.etcd.is_empty() {
        return Err("--etcd-servers is missing".to_owned());
    }
    Ok(Command::Serve(Box::new(out)))
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "h" | "help" | "version" => Some(Kind::Switch),
        // Not in the help, where envtest would find it and ask for such a port.
        "insecure-port" => Some(Kind::Value),
        _ if has(SWITCHES, name) => Some(Kind::Switch),
        _ => (has(USED, name) || has(IGNORED, name)).then_some(Kind::Value),
    }
}

/// Whether a list of words has this one.
fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

fn number<T: std::str::FromStr>(name: &str, value: &str, expected: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("--{name}: expected {expected}, got {value:?}"))
}

fn is_rbac(modes: &str) -> Result<bool, String> {
    let mut rbac = false;
    for mode in modes.split(',') {
        match mode {
            "RBAC" => rbac = true,
            // Which mode permits a request makes no difference: with AlwaysAllow, one of them always does.
            "AlwaysAllow" => return Ok(false),
            "Node" => {}
            _ => return Err(format!("--authorization-mode: expected RBAC or AlwaysAllow, got {mode:?}")),
        }
    }
    // Node alone would refuse everybody but nodes.
    if rbac { Ok(true) } else { Err("--authorization-mode: Node needs RBAC beside it".to_owned()) }
}

/// The plugin to switch off, if this server has it.
fn disabled(name: &str) -> Result<Option<AdmissionPlugin>, String> {
    if FIXED.contains(&name) {
        return Err(format!("--disable-admission-plugins: {name} cannot be switched off here"));
    }
    let lacking = has(LACKING, name) || has(OFF, name);
    if lacking { Ok(None) } else { plugin("disable", name).map(Some) }
}

fn enabled(name: &str) -> Result<(), String> {
    if has(OFF, name) {
        return Err(format!("--enable-admission-plugins: this server does not have {name}"));
    }
    let by_default = FIXED.contains(&name) || has(LACKING, name);
    if by_default { Ok(()) } else { plugin("enable", name).map(drop) }
}

fn plugin(flag: &str, name: &str) -> Result<AdmissionPlugin, String> {
    name.parse()
        .map_err(|_| format!("--{flag}-admission-plugins: kube-apiserver has no admission plugin {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_flags_of_envtest_are_known() {
        let line = "--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=d --client-ca-file=d/ca.crt \
                    --disable-admission-plugins=ServiceAccount,Priority --etcd-servers=http://127.0.0.1:2379 --secure-port=7 \
                    --service-account-issuer=https://127.0.0.1:7/ --service-account-key-file=d/sa.crt \
                    --service-account-signing-key-file=d/sa.key --service-cluster-ip-range=10.0.0.0/24 --runtime-config=api/beta=true -v=4 \
                    --enable-admission-plugins=PodSecurity,LimitRanger --http2-max-streams-per-connection=9 --insecure-port=0";
        let expected = Args {
            etcd: "127.0.0.1:2379".into(),
            port: 7,
            cert_dir: "d".into(),
            client_ca: Some("d/ca.crt".into()),
            rbac: true,
            issuer: Some("https://127.0.0.1:7/".into()),
            token_key: Some("d/sa.key".into()),
            disabled_plugins: vec![AdmissionPlugin::Priority],
            runtime_config: vec!["api/beta=true".into()],
            service_range: Some("10.0.0.0/24".into()),
            streams: Some(9),
            verbose: true,
            ..Args::default()
        };
        assert_eq!(parsed(line), Ok(Command::Serve(Box::new(expected))));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (line, problem) in [
            ("", "--etcd-servers is missing"),
            ("--oidc-issuer-url=https://a", "unknown flag --oidc-issuer-url"),
            (
                "--insecure-port=8080",
                "--insecure-port: expected 0, as kube-apiserver has none since 1.24, got \"8080\"",
            ),
            ("--secure-port=x", "--secure-port: expected a port, got \"x\""),
            ("--tls-cert-file=a", "--tls-cert-file and --tls-private-key-file need each other"),
            (
                "--authorization-mode=Webhook",
                "--authorization-mode: expected RBAC or AlwaysAllow, got \"Webhook\"",
            ),
            ("--authorization-mode=Node", "--authorization-mode: Node needs RBAC beside it"),
            (
                "--disable-admission-plugins=NamespaceLifecycle",
                "--disable-admission-plugins: NamespaceLifecycle cannot be switched off here",
            ),
            (
                "--disable-admission-plugins=Foo",
                "--disable-admission-plugins: kube-apiserver has no admission plugin \"Foo\"",
            ),
            (
                "--enable-admission-plugins=AlwaysPullImages",
                "--enable-admission-plugins: this server does not have AlwaysPullImages",
            ),
            ("--etcd-servers=a", "--etcd-servers: expected a URL such as http://127.0.0.1:2379, got \"a\""),
        ] {
            assert_eq!(parsed(line), Err(problem.to_owned()));
        }
        let modes =
            |modes: &str| match parsed(&format!("--etcd-servers=http://a:1 --authorization-mode={modes}")) {
                Ok(Command::Serve(args)) => args.rbac,
                other => panic!("{other:?}"),
            };
        assert_eq!((modes("Node,RBAC"), modes("RBAC,AlwaysAllow")), (true, false));
    }

    #[test]
    fn the_help_names_every_flag_at_the_beginning_of_a_line() {
        let Ok(Command::Print(help)) = parsed("--help") else { panic!("no help") };
        for name in IGNORED.split(' ').chain(USED.split(' ')) {
            let named =
                |line: &str| line.trim_start().trim_start_matches("-v, ").starts_with(&format!("--{name}"));
            assert!(help.lines().any(named), "{name}");
        }
        assert!(!help.contains("insecure-port"));
    }
}
