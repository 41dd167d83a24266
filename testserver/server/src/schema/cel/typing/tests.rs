use super::signature;
use crate::schema::cel::Scope;

/// A rule that passes the check must be able to run.
#[test]
fn every_function_can_be_called() {
    let operator = |name: &str| name.starts_with(['_', '@', '-', '!']);
    let missing = signature::names().into_iter().filter(|name| !operator(name) && !Scope::has_function(name));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}
