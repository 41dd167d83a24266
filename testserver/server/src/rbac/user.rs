//! A user: name, groups, uid and extra attributes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::secret::Secret;

/// A user of a server, with a credential.
///
/// ```
/// use kube_testserver::{TestServer, User};
///
/// let reader = User::new("ann").group("readers").token("secret");
/// let server = TestServer::builder().with_user(reader).service()?;
/// # Ok::<_, kube_testserver::StartError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
    pub(crate) token: Option<Secret>,
}

pub(crate) const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";
const MASTERS: &str = "system:masters";

impl User {
    /// A user in the group `system:authenticated` only.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The user `admin` of the group `system:masters`, which is permitted everything.
    pub fn admin() -> Self {
        Self::new("admin").group(MASTERS)
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Sets the uid.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// Adds a value to an extra field, which authorizers and webhooks see.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.entry(key.into()).or_default().push(value.into());
        self
    }

    /// Sets the bearer token. Without one, a server with TLS issues a client certificate, and any other server a random token; the
    /// kubeconfig contains it either way.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Secret::new(token));
        self
    }

    /// The user of all requests to a server without RBAC, with the name that test environments give their administrator.
    pub(crate) fn system_admin() -> Self {
        Self::new("system:admin").group(MASTERS)
    }

    /// The user of requests without credentials.
    pub(crate) fn anonymous() -> Self {
        Self::new(ANONYMOUS).group(UNAUTHENTICATED)
    }

    /// Adds the implicit group: `system:authenticated` or `system:unauthenticated`.
    pub(crate) fn with_implicit_group(mut self) -> Self {
        let standing = if self.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        if !self.groups.iter().any(|group| group == standing) {
            self.groups.push(standing.into());
        }
        self
    }

    /// `system:masters` bypasses authorization.
    pub(crate) fn is_superuser(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// The user of a service account, with its groups.
    ///
    /// ```
    /// use kube_testserver::{ApiServer, User};
    ///
    /// let server = ApiServer::builder().with_rbac().service()?;
    /// let operator = server.as_user(User::of_service_account("shop", "prices"));
    /// # drop(operator);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_service_account(namespace: &str, name: &str) -> Self {
        Self::new(format!("system:serviceaccount:{namespace}:{name}"))
            .group("system:serviceaccounts")
            .group(format!("system:serviceaccounts:{namespace}"))
    }

    /// Namespace and name, if the user is a service account.
    pub(crate) fn service_account(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix("system:serviceaccount:")?.split_once(':')
    }

    /// `userInfo` of reviews.
    pub(crate) fn to_value(&self) -> Value {
        let mut info = json!({"username": self.name});
        if !self.uid.is_empty() {
            info["uid"] = self.uid.as_str().into();
        }
        if !self.groups.is_empty() {
            info["groups"] = self.groups.clone().into();
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}
