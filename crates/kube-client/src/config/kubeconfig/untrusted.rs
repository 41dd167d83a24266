//! Kubeconfigs of whoever may write to the API, such as in Secrets: what could harm the reader is refused by name.

use std::fmt;

use thiserror::Error;

use super::Kubeconfig;
use crate::chain::ErrorChain;
use crate::config::KubeconfigError;

/// The largest kubeconfig that is read: the limit of a Secret.
const MAX_SIZE: usize = 1 << 20;

/// How many refused settings an error names.
const MAX_NAMED: usize = 5;

/// Which settings of a kubeconfig from an untrusted place a program allows. The default is none.
///
/// ```
/// use kube_client::config::{Kubeconfig, KubeconfigAllowList};
///
/// let text = r#"users: [{name: jane, user: {exec: {command: rm}}}]"#;
/// let refused = Kubeconfig::from_untrusted(text, &KubeconfigAllowList::default()).unwrap_err();
/// assert!(refused.to_string().contains("`exec` of user \"jane\""));
/// assert!(Kubeconfig::from_untrusted(text, &KubeconfigAllowList::default().exec()).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct KubeconfigAllowList {
    exec: bool,
    auth_provider: bool,
    files: bool,
    proxy_url: bool,
    insecure_skip_tls_verify: bool,
    plain_http: bool,
}

impl KubeconfigAllowList {
    /// Allows `exec`: any program of this machine is run with any arguments and environment.
    pub fn exec(self) -> Self {
        Self { exec: true, ..self }
    }

    /// Allows `auth-provider`, which may run a command, and sends tokens to any URL.
    pub fn auth_provider(self) -> Self {
        Self { auth_provider: true, ..self }
    }

    /// Allows `certificate-authority`, `client-certificate`, `client-key` and `tokenFile`: files of this machine are read, and sent to the
    /// kubeconfig's server.
    pub fn files(self) -> Self {
        Self { files: true, ..self }
    }

    /// Allows `proxy-url`: requests pass any machine that this one can reach.
    pub fn proxy_url(self) -> Self {
        Self { proxy_url: true, ..self }
    }

    /// Allows `insecure-skip-tls-verify: true`: whoever is between reads and changes everything.
    pub fn insecure_skip_tls_verify(self) -> Self {
        Self { insecure_skip_tls_verify: true, ..self }
    }

    /// Allows a `server` that does not begin with `https://`: whoever is between reads and changes everything, and services that speak
    /// only HTTP can be asked, such as those that give credentials to a machine in a cloud.
    pub fn plain_http(self) -> Self {
        Self { plain_http: true, ..self }
    }
}

/// A kubeconfig from an untrusted place is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UntrustedKubeconfigError {
    /// It is larger than a Secret may be.
    #[error("the kubeconfig has {size} bytes: expected at most {MAX_SIZE}, as a Secret may have")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// It is no kubeconfig.
    #[error("{}", ErrorChain(.0))]
    Invalid(#[source] KubeconfigError),
    /// It has settings that were not allowed.
    #[error(
        "{}: the kubeconfig comes from an untrusted place, so each has to be allowed by the program (`KubeconfigAllowList`)",
        RefusedList(.0)
    )]
    Refused(Vec<RefusedSetting>),
}

/// A setting that was not allowed. `{}` names it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{setting}` of {kind} {name:?}")]
pub struct RefusedSetting {
    /// Its key in the kubeconfig, such as `exec`.
    pub setting: &'static str,
    kind: &'static str,
    name: String,
}

impl Kubeconfig {
    /// Like [`from_yaml`](Self::from_yaml), for text of whoever may write to the API, such as in a Secret. All its entries are checked, not
    /// only those of a context.
    ///
    /// Not refused is what concerns the kubeconfig's own server only: `tls-server-name`, impersonation, users and passwords. The program
    /// connects to that server, whatever its address.
    ///
    /// # Errors
    /// For text that is no kubeconfig or larger than a Secret, and for settings that `allowed` does not have. These are named.
    pub fn from_untrusted(
        text: &str,
        allowed: &KubeconfigAllowList,
    ) -> Result<Self, UntrustedKubeconfigError> {
        if text.len() > MAX_SIZE {
            return Err(UntrustedKubeconfigError::TooLarge { size: text.len() });
        }
        let kubeconfig = Self::from_yaml(text).map_err(UntrustedKubeconfigError::Invalid)?;
        let refused = refused(&kubeconfig, allowed);
        if refused.is_empty() { Ok(kubeconfig) } else { Err(UntrustedKubeconfigError::Refused(refused)) }
    }
}

fn refused(kubeconfig: &Kubeconfig, allowed: &KubeconfigAllowList) -> Vec<RefusedSetting> {
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    let mut refused = Vec::new();
    for named in &kubeconfig.clusters {
        let Some(cluster) = &named.cluster else { continue };
        let server = cluster.server.as_deref().unwrap_or_default().trim();
        let is_https = server.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        let settings = [
            ("server", allowed.plain_http, !server.is_empty() && !is_https),
            ("certificate-authority", allowed.files, is_set(&cluster.certificate_authority)),
            ("proxy-url", allowed.proxy_url, is_set(&cluster.proxy_url)),
            (
                "insecure-skip-tls-verify",
                allowed.insecure_skip_tls_verify,
                cluster.insecure_skip_tls_verify == Some(true),
            ),
        ];
        note("cluster", &named.name, &settings, &mut refused);
    }
    for named in &kubeconfig.auth_infos {
        let Some(user) = &named.auth_info else { continue };
        let settings = [
            ("exec", allowed.exec, user.exec.is_some()),
            ("auth-provider", allowed.auth_provider, user.auth_provider.is_some()),
            ("client-certificate", allowed.files, is_set(&user.client_certificate)),
            ("client-key", allowed.files, is_set(&user.client_key)),
            ("tokenFile", allowed.files, is_set(&user.token_file)),
        ];
        note("user", &named.name, &settings, &mut refused);
    }
    refused
}

/// Adds the settings that are set and not allowed. Of each: its key, whether it is allowed, whether it is set.
fn note(
    kind: &'static str,
    name: &str,
    settings: &[(&'static str, bool, bool)],
    refused: &mut Vec<RefusedSetting>,
) {
    let settings = settings.iter().filter(|(_, allowed, set)| *set && !allowed);
    refused.extend(settings.map(|&(setting, ..)| RefusedSetting {
        setting,
        kind,
        name: name.chars().take(MAX_NAME).collect(),
    }));
}

/// How much of a name an error has.
const MAX_NAME: usize = 100;

struct RefusedList<'a>(&'a [RefusedSetting]);

impl fmt::Display for RefusedList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, setting) in self.0.iter().take(MAX_NAMED).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            setting.fmt(f)?;
        }
        match self.0.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cluster: &str, user: &str) -> String {
        format!(
            "clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        )
    }

    /// The setting, what it looks like in a cluster or a user, and what allows it.
    type Refused = (&'static str, &'static str, &'static str, fn(KubeconfigAllowList) -> KubeconfigAllowList);

    const REFUSED: [Refused; 13] = [
        ("exec", "", "exec: {command: rm}", KubeconfigAllowList::exec),
        ("exec", "", "exec: {}", KubeconfigAllowList::exec),
        ("auth-provider", "", "auth-provider: {name: oidc}", KubeconfigAllowList::auth_provider),
        ("client-certificate", "", "client-certificate: /c", KubeconfigAllowList::files),
        ("client-key", "", "client-key: c, client-key-data: YQ==", KubeconfigAllowList::files),
        (
            "tokenFile",
            "",
            "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token",
            KubeconfigAllowList::files,
        ),
        (
            "certificate-authority",
            "server: 'https://a', certificate-authority: ca",
            "",
            KubeconfigAllowList::files,
        ),
        ("proxy-url", "server: 'https://a', proxy-url: 'http://p'", "", KubeconfigAllowList::proxy_url),
        (
            "insecure-skip-tls-verify",
            "server: 'https://a', insecure-skip-tls-verify: true",
            "",
            KubeconfigAllowList::insecure_skip_tls_verify,
        ),
        ("server", "server: 'http://169.254.169.254'", "", KubeconfigAllowList::plain_http),
        ("server", "server: '127.0.0.1:8080'", "", KubeconfigAllowList::plain_http),
        ("server", "server: ' HTTP://a'", "", KubeconfigAllowList::plain_http),
        ("server", "server: 'https:/a'", "", KubeconfigAllowList::plain_http),
    ];

    #[test]
    fn each_dangerous_setting_is_refused_by_name_unless_it_is_allowed() {
        for (setting, cluster, user, allow) in REFUSED {
            let text = text(cluster, user);
            let err = Kubeconfig::from_untrusted(&text, &KubeconfigAllowList::default()).unwrap_err();
            let UntrustedKubeconfigError::Refused(refused) = &err else { panic!("{err}") };
            assert_eq!(refused.iter().map(|it| it.setting).collect::<Vec<_>>(), [setting], "{text}");
            let named = if user.is_empty() { "cluster \"c\"" } else { "user \"u\"" };
            assert!(err.to_string().starts_with(&format!("`{setting}` of {named}: ")), "{err}");
            assert!(Kubeconfig::from_untrusted(&text, &allow(KubeconfigAllowList::default())).is_ok());
            // What allows another one does not allow this.
            for (other, .., allow_other) in REFUSED {
                let allows_both =
                    allow_other(KubeconfigAllowList::default()) == allow(KubeconfigAllowList::default());
                let result = Kubeconfig::from_untrusted(&text, &allow_other(KubeconfigAllowList::default()));
                assert_eq!(result.is_ok(), allows_both, "{setting} by {other}");
            }
        }
    }

    #[test]
    fn what_concerns_its_own_server_only_is_not_refused() {
        let harmless = text(
            "server: 'HTTPS://me:pw@a:6443/x', tls-server-name: n, certificate-authority-data: YQ==, \
             certificate-authority: '', proxy-url: '', insecure-skip-tls-verify: false",
            "token: t, username: u, password: p, as: root, as-groups: [g], exec: null, tokenFile: '', client-key-data: YQ==",
        );
        Kubeconfig::from_untrusted(&harmless, &KubeconfigAllowList::default()).unwrap();
    }

    #[test]
    fn entries_that_no_context_selects_and_later_documents_are_checked_too() {
        let unselected = format!("{}\nextra: 1\n", text("server: 'https://a'", "token: t"))
            .replace("users: [", "users: [{name: other, user: {exec: {command: rm}}}, ");
        let second = format!(
            "{}---\nusers: [{{name: other, user: {{exec: {{command: rm}}}}}}]\n",
            text("server: 'https://a'", "token: t")
        );
        for text in [unselected, second] {
            let err = Kubeconfig::from_untrusted(&text, &KubeconfigAllowList::default()).unwrap_err();
            assert!(err.to_string().starts_with("`exec` of user \"other\""), "{err}");
        }
    }

    #[test]
    fn errors_are_short_and_have_no_secret() {
        let many: Vec<_> =
            (0..20_000).map(|n| format!("{{name: n{n}, user: {{exec: {{}}, token: hush}}}}")).collect();
        let err = Kubeconfig::from_untrusted(
            &format!("users: [{}]", many.join(", ")),
            &KubeconfigAllowList::default(),
        );
        let err = err.unwrap_err().to_string();
        assert!(err.len() < 400 && err.contains("and 19995 more") && !err.contains("hush"), "{err}");
        let long = format!("users: [{{name: {}, user: {{exec: {{}}}}}}]", "n".repeat(100_000));
        let err = Kubeconfig::from_untrusted(&long, &KubeconfigAllowList::default()).unwrap_err().to_string();
        assert!(err.len() < 400, "{}", err.len());
    }

    #[test]
    fn huge_texts_cycles_and_bombs_are_errors() {
        let allowed = KubeconfigAllowList::default();
        let huge = " ".repeat(MAX_SIZE + 1);
        let err = Kubeconfig::from_untrusted(&huge, &allowed).unwrap_err();
        assert!(matches!(err, UntrustedKubeconfigError::TooLarge { size } if size == MAX_SIZE + 1));
        assert!(err.to_string().contains("1048577 bytes"), "{err}");
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        (1..40).for_each(|n| bomb += &format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
        for text in ["clusters: &a [*a]", "a: &a {<<: *a}", "users: [", "- a", bomb.as_str()] {
            let err = Kubeconfig::from_untrusted(text, &allowed).unwrap_err();
            assert!(matches!(err, UntrustedKubeconfigError::Invalid(_)), "{text}: {err}");
        }
        assert!(Kubeconfig::from_untrusted("", &allowed).is_ok(), "there is no context to select, then");
    }
}
