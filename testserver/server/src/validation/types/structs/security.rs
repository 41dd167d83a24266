//! Security contexts: profiles, users of Windows, privileges.

use serde_json::Value;

use super::values::{is_set, items, outside, text};
use crate::{object::names, schema::ErrorList};

pub(super) fn seccomp(value: &Value, at: &str, errors: &mut ErrorList) {
    let (kind, profile, place) =
        (text(value, "type"), &value["localhostProfile"], format!("{at}.localhostProfile"));
    match (kind, profile.as_str()) {
        ("Localhost", None) => errors.required(place, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(path)) => errors.problem(place, profile, outside(path)),
        (_, Some(_)) => {
            // As Go prints the struct.
            let printed = format!("{{\"Type\":{},\"LocalhostProfile\":{profile}}}", value["type"]);
            errors.invalid(place, printed, "can only be set when seccomp type is Localhost");
        }
        (_, None) => {}
    }
}

pub(super) fn app_armor(value: &Value, at: &str, errors: &mut ErrorList) {
    let (kind, profile, place) =
        (text(value, "type"), &value["localhostProfile"], format!("{at}.localhostProfile"));
    match (kind, profile.as_str()) {
        ("Localhost", None | Some("")) => {
            errors.required(place, "must be set when AppArmor type is Localhost");
        }
        ("Localhost", Some(name)) if name.trim() != name => {
            errors.invalid(place, profile, "must not be padded with whitespace");
        }
        ("Localhost", Some(name)) if name.len() > 4095 => {
            errors.too_long(place, 4095);
        }
        // A missing type is an error of its own.
        ("Localhost", Some(_)) | ("", _) | (_, None) => {}
        (_, Some(_)) => errors.invalid(place, profile, "can only be set when AppArmor type is Localhost"),
    }
}

pub(super) fn windows(value: &Value, at: &str, errors: &mut ErrorList) {
    let name = &value["gmsaCredentialSpecName"];
    errors.problem(format!("{at}.gmsaCredentialSpecName"), name, name.as_str().and_then(names::subdomain));
    let why = match value["gmsaCredentialSpec"].as_str().map(str::len) {
        Some(0) => Some("gmsaCredentialSpec cannot be an empty string"),
        Some(length) if length > 64 * 1024 => Some("gmsaCredentialSpec size must be under 64 KiB"),
        _ => None,
    };
    errors.problem(format!("{at}.gmsaCredentialSpec"), &value["gmsaCredentialSpec"], why);
    for why in value["runAsUserName"].as_str().into_iter().flat_map(user_problems) {
        errors.invalid(
            format!("{at}.runAsUserName"),
            &value["runAsUserName"],
            &format!("runAsUserName{why}"),
        );
    }
}

/// What is wrong with a name such as `DOMAIN\user`.
fn user_problems(name: &str) -> Vec<&'static str> {
    const OF_USERS: &str = "\"/\\:;|=,+*?<>@[]";
    if name.is_empty() {
        return vec![" cannot be an empty string"];
    }
    if name.chars().any(char::is_control) {
        return vec![" cannot contain control characters"];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => return vec![" cannot contain more than one backslash"],
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut problems = Vec::new();
    if domain.is_some_and(|domain| domain.len() > 255) {
        problems.push("'s Domain length must be under 256 characters");
    }
    if domain.is_some_and(|domain| !is_domain(domain)) {
        problems.push("'s Domain doesn't match the NetBios nor the DNS format");
    }
    if user.is_empty() {
        problems.push("'s User cannot be empty");
    } else if user.len() > 104 {
        problems.push("'s User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        problems.push("'s User cannot contain only periods or spaces");
    }
    if user.chars().any(|c| OF_USERS.contains(c)) {
        problems.push("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
    problems
}

/// A NetBIOS name, or one of DNS.
fn is_domain(domain: &str) -> bool {
    let short = !domain.is_empty()
        && domain.len() <= 15
        && !domain.starts_with('.')
        && !domain.chars().any(|c| "\\/:*?\"<>|".contains(c));
    let label = |label: &str| {
        !label.is_empty() && label.len() <= 63 && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    short || domain.split('.').all(label)
}

pub(super) fn context(value: &Value, at: &str, errors: &mut ErrorList) {
    let adds = value["capabilities"]["add"].as_array().into_iter().flatten();
    let other = match value["privileged"] == true {
        true => "`privileged` to true",
        false if adds.into_iter().any(|name| name == "CAP_SYS_ADMIN") => "`capabilities.Add` CAP_SYS_ADMIN",
        false => return,
    };
    if value["allowPrivilegeEscalation"] == false {
        let why = format!("cannot set `allowPrivilegeEscalation` to false and {other}");
        errors.invalid(at, value, &why);
    }
}

/// What only Linux has, of pods and containers.
const OF_LINUX: &str = "appArmorProfile seLinuxOptions seccompProfile fsGroup fsGroupChangePolicy sysctls capabilities \
    readOnlyRootFilesystem privileged allowPrivilegeEscalation procMount runAsUser runAsGroup \
    supplementalGroups supplementalGroupsPolicy seLinuxChangePolicy";

/// What a pod has that its operating system has not.
pub(super) fn system(pod: &Value, at: &str, errors: &mut ErrorList) {
    match text(&pod["os"], "name") {
        "linux" => {
            for (place, _) in contexts(pod, at).filter(|(_, context)| is_set(&context["windowsOptions"])) {
                let why = "windows options cannot be set for a linux pod";
                errors.forbidden(format!("{place}.windowsOptions"), why);
            }
        }
        "windows" => of_windows(pod, at, errors),
        _ => {}
    }
    let process = |context: &Value| context["windowsOptions"]["hostProcess"].as_bool();
    let (of_pod, mut on_host) = (process(&pod["securityContext"]), false);
    for (place, context) in contexts(pod, at) {
        let Some(own) = process(context) else { continue };
        on_host |= own;
        if let Some(of_pod) = of_pod.filter(|of_pod| *of_pod != own) {
            let why = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.invalid(format!("{place}.windowsOptions.hostProcess"), own, &why);
        }
    }
    if on_host && pod["hostNetwork"] != true {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(format!("{at}.hostNetwork"), false, why);
    }
}

/// The security contexts of a pod and its containers, and where they are.
fn contexts<'p>(pod: &'p Value, at: &'p str) -> impl Iterator<Item = (String, &'p Value)> {
    let own = (format!("{at}.securityContext"), &pod["securityContext"]);
    let lists = ["containers", "initContainers"].into_iter();
    let containers = lists
        .flat_map(move |list| items(pod, list).map(move |(i, item)| (list, i, &item["securityContext"])));
    let placed = move |(list, i, context)| (format!("{at}.{list}[{i}].securityContext"), context);
    [own].into_iter().chain(containers.filter(|(_, _, context)| is_set(context)).map(placed))
}

fn of_windows(pod: &Value, at: &str, errors: &mut ErrorList) {
    const WHY: &str = "cannot be set for a windows pod";
    if is_set(&pod["resources"]) {
        errors.forbidden(format!("{at}.resources"), "may not be set for a windows pod");
    }
    let of_pod = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"].into_iter();
    for member in of_pod.filter(|member| is_set(&pod[*member])) {
        errors.forbidden(format!("{at}.{member}"), WHY);
    }
    for (place, context) in contexts(pod, at) {
        for member in OF_LINUX.split(' ').filter(|member| is_set(&context[*member])) {
            errors.forbidden(format!("{place}.{member}"), WHY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `v1.37` answered to each.
    #[test]
    fn users_of_windows_have_names_of_windows() {
        for good in ["A\\b", "A B\\c", "a b", "AAAAAAAAAAAAAAAA\\c", "a.b.c\\c", "-a.b\\c", "a b.c\\c"] {
            assert!(user_problems(good).is_empty(), "{good}");
        }
        for (bad, why) in [
            ("", " cannot be an empty string"),
            ("A\\B\\c", " cannot contain more than one backslash"),
            ("a\tb", " cannot contain control characters"),
            ("\\b", "'s Domain doesn't match the NetBios nor the DNS format"),
            ("A\\", "'s User cannot be empty"),
            ("...", "'s User cannot contain only periods or spaces"),
            ("a|b", "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
            ("a:b\\c", "'s Domain doesn't match the NetBios nor the DNS format"),
            (".A\\c", "'s Domain doesn't match the NetBios nor the DNS format"),
            ("A_bA_bA_bA_bA_bA_bA_bA_b\\c", "'s Domain doesn't match the NetBios nor the DNS format"),
            ("aaaaaaaaaaaaaa*\\c", "'s Domain doesn't match the NetBios nor the DNS format"),
        ] {
            assert_eq!(user_problems(bad), [why], "{bad}");
        }
        assert_eq!(
            user_problems(&"a".repeat(105)),
            ["'s User length must not be longer than 104 characters"]
        );
        assert_eq!(user_problems(&format!("{}\\c", "A".repeat(257))).len(), 2);
    }
}
