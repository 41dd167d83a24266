//! What servers accept in a condition, and the naming rules of the API conventions.

/// The schema of `metav1.Condition` limits the length of these fields, in characters.
const MAX_TYPE: usize = 316;
pub(super) const MAX_REASON: usize = 1024;
pub(super) const MAX_MESSAGE: usize = 32_768;

/// A field of a condition that a server would reject, or that breaks a naming rule of the
/// [API
/// conventions](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {field} of condition {condition:?} is invalid: {problem}")]
pub struct InvalidCondition {
    /// The type of the condition.
    pub condition: String,
    /// The field: `type`, `reason` or `observedGeneration`.
    pub field: &'static str,
    /// What is wrong, and what was expected.
    pub problem: String,
}

/// Checks the type: `CamelCase`, or a name of any case behind a domain, as in `example.com/ready`.
pub(super) fn check_type(type_: &str) -> Result<(), InvalidCondition> {
    let (domain, name) = type_.rsplit_once('/').map_or((None, type_), |(domain, name)| (Some(domain), name));
    let problem = if type_.chars().count() > MAX_TYPE {
        format!("it is longer than {MAX_TYPE} characters")
    } else if !domain.is_none_or(is_dns_subdomain) {
        "expected a DNS name before the slash, as in `example.com/Ready`".to_owned()
    } else if !is_label_name(name) {
        "expected letters, digits, `-`, `_` or `.`, with a letter or digit at both ends, as in `Ready`"
            .to_owned()
    } else if domain.is_none() && !is_camel_case(name) {
        "expected CamelCase, as in `Ready`; only types with a domain, as in `example.com/ready`, may differ"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(InvalidCondition { condition: type_.to_owned(), field: "type", problem })
}

pub(super) fn check_reason(type_: &str, reason: &str) -> Result<(), InvalidCondition> {
    let problem = if reason.is_empty() {
        "it is empty; expected one word that says why, as in `MinimumReplicasAvailable`".to_owned()
    } else if reason.chars().count() > MAX_REASON {
        format!("it is longer than {MAX_REASON} characters")
    } else if !is_reason(reason) || !reason.starts_with(|first: char| first.is_ascii_uppercase()) {
        format!(
            "expected one CamelCase word of letters, digits, `_`, `,` and `:`, as in `ReplicasReady`, but it is {reason:?}"
        )
    } else {
        return Ok(());
    };
    Err(InvalidCondition { condition: type_.to_owned(), field: "reason", problem })
}

/// The message, cut to the length that servers accept.
pub(super) fn cut_message(message: &str) -> &str {
    message.char_indices().nth(MAX_MESSAGE).map_or(message, |(end, _)| &message[..end])
}

pub(super) fn check_generation(type_: &str, generation: Option<i64>) -> Result<(), InvalidCondition> {
    match generation {
        Some(generation) if generation < 0 => Err(InvalidCondition {
            condition: type_.to_owned(),
            field: "observedGeneration",
            problem: format!("expected 0 or more, as in metadata.generation, but it is {generation}"),
        }),
        _ => Ok(()),
    }
}

/// `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
pub(super) fn is_reason(reason: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    reason.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && reason.bytes().all(inner)
        && !reason.ends_with([',', ':'])
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_label_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    outer(name.as_bytes().first()) && outer(name.as_bytes().last()) && name.bytes().all(inner)
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
fn is_dns_subdomain(name: &str) -> bool {
    let is_outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.iter().all(|byte| is_outer(byte) || *byte == b'-')
            && bytes.first().is_some_and(is_outer)
            && bytes.last().is_some_and(is_outer)
    })
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_camel_case_or_have_a_domain() {
        for valid in [
            "Ready",
            "PodReadyToStartContainers",
            "A",
            "example.com/Ready",
            "cloud.google.com/load-balancer-neg-ready",
            "e/a.b_c",
        ] {
            assert_eq!(check_type(valid), Ok(()), "{valid}");
        }
        for invalid in [
            "",
            "ready",
            "Is-Ready",
            "Is Ready",
            "Ready!",
            "example.com/",
            "/Ready",
            "Example.com/Ready",
            "a..b/Ready",
            "a/b/Ready",
            "-a/Ready",
            "a-/Ready",
            "a/-b",
            "Größe",
        ] {
            assert_eq!(check_type(invalid).unwrap_err().field, "type", "{invalid}");
        }
        assert_eq!(check_type(&format!("A{}", "a".repeat(315))), Ok(()));
        assert!(
            check_type(&format!("A{}", "a".repeat(316))).unwrap_err().to_string().contains("longer than 316")
        );
    }

    #[test]
    fn reasons_follow_the_pattern_of_the_schema_in_camel_case() {
        for valid in ["A", "ReplicasReady", "Minimum_2", "A,B:C", "Http404"] {
            assert_eq!(check_reason("Ready", valid), Ok(()), "{valid}");
        }
        for invalid in ["", "ready", "_A", "1A", "A,", "A:", "Not ready", "A-B", "A.B", "É"] {
            assert_eq!(check_reason("Ready", invalid).unwrap_err().field, "reason", "{invalid}");
        }
        assert_eq!(check_reason("Ready", &"A".repeat(1024)), Ok(()));
        assert!(check_reason("Ready", &"A".repeat(1025)).is_err());
    }

    #[test]
    fn an_error_names_condition_field_and_expectation() {
        let error = check_reason("Ready", "not ready").unwrap_err();
        let expected = "the reason of condition \"Ready\" is invalid: expected one CamelCase word of letters, digits, `_`, `,` and `:`, as in \
                        `ReplicasReady`, but it is \"not ready\"";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn messages_are_cut_in_characters_not_bytes() {
        let longest = "é".repeat(32_768);
        assert_eq!(cut_message(&longest), longest);
        assert_eq!(cut_message(&"é".repeat(32_769)), longest);
        assert_eq!(cut_message(""), "", "it may be empty");
    }

    #[test]
    fn generations_are_not_negative() {
        assert_eq!(
            [None, Some(0), Some(i64::MAX)].map(|it| check_generation("Ready", it)),
            [Ok(()), Ok(()), Ok(())]
        );
        assert_eq!(check_generation("Ready", Some(-1)).unwrap_err().field, "observedGeneration");
    }
}
