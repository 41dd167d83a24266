//! Rules for structs of which one member, a kind of something, has to be set.

use serde_json::Value;

use crate::schema::ErrorList;

/// Others than the first are forbidden, and none is a missing value.
pub(super) fn handler(value: &Value, what: &str, members: &[&str], at: &str, errors: &mut ErrorList) {
    if value.is_null() {
        return;
    }
    if given(value, members).is_empty() {
        errors.required(at, &format!("must specify a {what} type"));
    }
    for member in others(value, members) {
        let place = format!("{at}.{}", plain(member).1);
        errors.forbidden(place, &format!("may not specify more than 1 {what} type"));
    }
}

/// Any number but one is an invalid value of the whole.
pub(super) fn union(value: &Value, members: &[&str], at: &str, errors: &mut ErrorList) {
    let given = given(value, members);
    if value.is_null() || given.len() == 1 {
        return;
    }
    let (printed, members) = (given.join(", "), members.join("`, `"));
    let why = format!("must specify exactly one of: `{members}`");
    errors.invalid(at, if printed.is_empty() { "\"\"".to_owned() } else { printed }, &why);
}

/// The members that are there besides the first.
pub(super) fn others<'m>(value: &Value, members: &[&'m str]) -> impl Iterator<Item = &'m str> + use<'m> {
    given(value, members).into_iter().skip(1).filter(|member| !member.starts_with('+'))
}

/// Some members have another name in errors, as `downwardAPI=downwarAPI`. With `+` a member counts, but is never one too many.
pub(super) fn plain(member: &str) -> (&str, &str) {
    let member = member.strip_prefix('+').unwrap_or(member);
    member.split_once('=').unwrap_or((member, member))
}

fn given<'m>(value: &Value, members: &[&'m str]) -> Vec<&'m str> {
    members.iter().copied().filter(|member| !value[plain(member).0].is_null()).collect()
}
