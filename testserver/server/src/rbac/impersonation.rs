//! Reads the impersonation headers of a request.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::{AuthorizationAttributes, User};
use crate::route::decode;

/// The impersonation headers of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImpersonationRequest {
    pub(super) user: User,
    /// Everything that must be permitted for it.
    pub(super) required: Vec<AuthorizationAttributes>,
}

impl ImpersonationRequest {
    /// Reads the impersonation headers; `None` without any. The error is the message of the refusal.
    pub(super) fn read(headers: &HeaderMap) -> Result<Option<Self>, String> {
        let all = |name: &str| -> Vec<String> {
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.filter(|value| !value.is_empty()).map(String::from).collect()
        };
        let (names, groups, uids) =
            (all("impersonate-user"), all("impersonate-group"), all("impersonate-uid"));
        let extra = extra(headers);
        let Some(name) = names.first() else {
            if groups.is_empty() && uids.is_empty() && extra.is_empty() {
                return Ok(None);
            }
            let uid = uids.first().map_or("", String::as_str);
            let extra: Vec<String> =
                extra.iter().map(|(key, values)| format!("{key:?}:{}", in_go(values))).collect();
            let extra = match extra.as_slice() {
                [] => "(nil)".to_owned(),
                pairs => format!("{{{}}}", pairs.join(", ")),
            };
            return Err(format!(
                "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:{}, Extra:map[string][]string{extra}}} \
                 without impersonating a user name",
                in_go(&groups)
            ));
        };
        let mut user = User::new(name);
        let mut required = vec![match user.service_account() {
            Some((namespace, account)) => attributes("", "serviceaccounts", namespace, account),
            None => attributes("", "users", "", name),
        }];
        required.extend(groups.iter().map(|group| attributes("", "groups", "", group)));
        let group = "authentication.k8s.io";
        required.extend(uids.iter().map(|uid| attributes(group, "uids", "", uid)));
        for (key, values) in &extra {
            required.extend(
                values.iter().map(|value| attributes(group, &format!("userextras/{key}"), "", value)),
            );
        }
        user.uid = uids.first().cloned().unwrap_or_default();
        if groups.is_empty()
            && let Some((namespace, _)) = user.service_account()
        {
            let of_namespace = format!("system:serviceaccounts:{namespace}");
            user = user.group("system:serviceaccounts").group(of_namespace);
        }
        user.groups.extend(groups);
        user.extra = extra;
        Ok(Some(Self { user: user.with_implicit_group(), required }))
    }
}

/// A list of texts as Go prints it.
fn in_go(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    if shown.is_empty() { "[]string(nil)".to_owned() } else { format!("[]string{{{}}}", shown.join(", ")) }
}

fn extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let key = name.as_str().strip_prefix("impersonate-extra-");
        if let (Some(key), Ok(value)) = (key, value.to_str()) {
            extra.entry(percent_decoded(key)).or_default().push(value.into());
        }
    }
    extra
}

/// Characters that header names cannot contain are percent-encoded.
fn percent_decoded(key: &str) -> String {
    decode(key, false).unwrap_or_else(|| key.to_string())
}

fn attributes(group: &str, resource: &str, namespace: &str, name: &str) -> AuthorizationAttributes {
    let [group, resource, namespace, name] = [group, resource, namespace, name].map(String::from);
    AuthorizationAttributes::Resource { verb: "impersonate".into(), group, resource, namespace, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse::<http::HeaderName>().unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn headers_name_the_user_and_the_required_permissions() {
        assert_eq!(ImpersonationRequest::read(&headers(&[])), Ok(None));
        let orphaned = ImpersonationRequest::read(&headers(&[("impersonate-group", "devs")])).unwrap_err();
        assert_eq!(
            orphaned,
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} without impersonating a user name"#
        );
        let impersonation = ImpersonationRequest::read(&headers(&[
            ("impersonate-user", "bob"),
            ("impersonate-group", "devs"),
            ("impersonate-uid", "7"),
            ("impersonate-extra-example.com%2fscope", "dev"),
        ]));
        let impersonation = impersonation.unwrap().unwrap();
        let expected = User::new("bob").group("devs").group("system:authenticated").uid("7");
        assert_eq!(impersonation.user, expected.extra("example.com/scope", "dev"));
        let group = "authentication.k8s.io";
        let required = [
            attributes("", "users", "", "bob"),
            attributes("", "groups", "", "devs"),
            attributes(group, "uids", "", "7"),
            attributes(group, "userextras/example.com/scope", "", "dev"),
        ];
        assert_eq!(impersonation.required, required);
        let account =
            ImpersonationRequest::read(&headers(&[("impersonate-user", "system:serviceaccount:n:a")]))
                .unwrap()
                .unwrap();
        assert_eq!(account.required, [attributes("", "serviceaccounts", "n", "a")]);
        assert!(account.user.groups.contains(&"system:serviceaccounts:n".to_string()));
    }
}
