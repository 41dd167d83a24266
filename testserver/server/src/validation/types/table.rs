//! The rules of all types. A line is `TYPE FIELD RULE ARGUMENTS`; the field `.` is the struct itself.

use std::{collections::HashMap, sync::LazyLock};

use super::check::Check;

static TAGS: &str = include_str!("../../../data/tags.txt");
static CHECKS: &str = include_str!("../../../data/checks.txt");

/// Tags that rules of kinds report, most in words of their own.
const OF_KINDS: [&str; 7] = [
    "api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec policyName required",
    "api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec validationActions required",
    "api.core.v1.ReplicationControllerSpec replicas min 0",
    "api.core.v1.ReplicationControllerSpec minReadySeconds min 0",
    "api.rbac.v1.PolicyRule verbs required",
    "api.rbac.v1.RoleRef name required",
    "api.rbac.v1.Subject name required",
];

static TABLE: LazyLock<HashMap<&'static str, Vec<Check>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Check>> = HashMap::new();
    let tags = lines(TAGS).filter(|line| !OF_KINDS.contains(line));
    for (owner, check) in lines(CHECKS).chain(tags).filter_map(parse) {
        table.entry(owner).or_default().push(check);
    }
    table
});

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn parse(line: &'static str) -> Option<(&'static str, Check)> {
    let (owner, rest) = line.split_once(' ')?;
    let (field, rule) = rest.split_once(' ')?;
    Some((owner, Check::parse(field, rule)?))
}

/// The rules for the fields of a type. Ephemeral containers have the fields of containers.
pub(super) fn of(owner: &str) -> &'static [Check] {
    let owner = if owner == "api.core.v1.EphemeralContainer" { "api.core.v1.Container" } else { owner };
    TABLE.get(owner).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gotypes;

    /// Every line is understood and names fields that exist, so that none is dead.
    #[test]
    fn every_line_is_a_rule_of_a_field() {
        assert!(OF_KINDS.iter().all(|tag| TAGS.lines().any(|line| line == *tag)));
        for line in lines(TAGS).chain(lines(CHECKS)) {
            let (owner, check) = parse(line).unwrap_or_else(|| panic!("not a rule: {line}"));
            let owner = gotypes::by_name(owner).unwrap_or_else(|| panic!("no type: {line}"));
            let mut fields = check.members();
            if check.field != "." {
                fields.push(check.field);
            }
            for field in fields {
                assert!(owner.field(field).is_some(), "no field {field}: {line}");
            }
        }
    }
}
