//! PriorityClasses: names and values of the system's own classes are reserved.

use super::Write;
use crate::{
    object::meta,
    schema::ErrorList,
    strategy::{HIGHEST_USER_PRIORITY, SYSTEM_CLASSES},
};

const POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let class = write.object;
    let (name, value) = (meta::name(class), class["value"].as_i64().unwrap_or(0));
    if name.starts_with("system-") {
        if let Some(why) = not_of_system(name, value, class["globalDefault"] == true) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            errors.forbidden("metadata.name", &why);
        }
    } else if value > HIGHEST_USER_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.forbidden("value", &why);
    }
    match class["preemptionPolicy"].as_str() {
        None => {}
        Some("") => errors.required("preemptionPolicy", ""),
        Some(policy) => errors.one_of("preemptionPolicy", policy, &POLICIES),
    }
}

/// Why a class is not one of the system's.
fn not_of_system(name: &str, value: i64, default: bool) -> Option<String> {
    let Some((_, own, _)) = SYSTEM_CLASSES.iter().find(|(class, ..)| *class == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    match () {
        () if *own != value => Some(format!("value of {name} PriorityClass must be {own}")),
        () if default => Some(format!("globalDefault of {name} PriorityClass must be false")),
        () => None,
    }
}
