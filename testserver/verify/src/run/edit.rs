//! What a user does to an object, and takes back: the state has to be as before.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    course::{End, MOST_WRITES, PATIENCE, POLL, Run},
    times::QUIET,
};
use crate::{
    edits::{USER, is_applied, of_fields, overwriting},
    family::Family,
    fields::merge_patch,
    finding::{Finding, Oracle},
    kinds::Kinds,
    oracle,
    outcome::{Edited, Reached, Reference},
    plan::{Edit, EditFault},
    state::{Difference, ObjectName, State, normalize, qualified, without_history},
    statuses::without_status,
    workload::send_again,
};

/// How long the operator may do something about an edit.
const EDITED: Duration = Duration::from_secs(300);
/// What a user adds.
const LABEL: &str = "verify.kube/label";

/// An object and what a user makes of it.
struct User {
    name: ObjectName,
    path: String,
    before: Value,
    after: Value,
    /// The copies of its generation, if the edit has changed nothing else.
    copies: Option<BTreeSet<String>>,
    /// What was another value while the edit was there, and whether that was the generation.
    meanwhile: BTreeMap<String, bool>,
}

impl User {
    /// Whether a value is the generation of the object as it is now, and was no other value while the edit was there.
    fn is_copy(&self, difference: &Difference, now: &Value) -> bool {
        let Difference::Value { at, .. } = difference else { return false };
        is_generation(difference, &self.before, now) && self.meanwhile.get(at).is_none_or(|is| *is)
    }
}

impl Run<'_> {
    /// The edit, and the way back.
    pub(super) async fn edit(&mut self, edit: &Edit, at: usize) -> End {
        let Some(mut user) = self.user(edit).await else { return End::Edited };
        let Some(reference) = self.reference else { return End::Edited };
        let Some(expected) = reference.steps.get(at) else { return End::Edited };
        let expected = self.plain(expected.state.clone(), expected.external.clone());
        self.session.fire();
        // The requests that it causes are counted by themselves.
        self.session.set_step(at);
        self.session.log(format!("FAULT: {edit}"));
        if matches!(edit.fault.family(), Family::Extreme | Family::ChildEdited | Family::StatusWiped) {
            // They are about values of the workload.
            self.session.ignore_invariants();
        }
        if edit.fault == EditFault::WipeStatus {
            self.session.crash();
        }
        let code = self.send(edit, &user, &user.before, &user.after, at).await;
        if !is_success(code) {
            self.outcome.edited = is_refusal(code).then_some(Edited::Refused);
            return End::Edited;
        }
        let restores = match edit.fault {
            EditFault::WipeStatus => true,
            EditFault::Overwrite => is_applied(&user.before, &edit.path),
            _ => false,
        };
        if !restores && !self.take_back(edit, &mut user, reference, &expected, at).await {
            return End::Edited;
        }
        if self.settle(at).await {
            self.reach_again(reference, &expected, &user, at).await;
        }
        End::Edited
    }

    /// Takes an edit back, once the operator had time for it. False if the run ends there.
    async fn take_back(
        &mut self,
        edit: &Edit,
        user: &mut User,
        reference: &Reference,
        expected: &Reached,
        at: usize,
    ) -> bool {
        if !self.survive(at).await {
            return false;
        }
        let differences = self.meanwhile(user, reference, expected);
        if edit.fault == EditFault::Change {
            user.copies = self.copies(user, differences);
        }
        if edit.fault == EditFault::Overwrite {
            let now = self.object(&user.name);
            let value = |object: &Value| edit.path.get(object).cloned();
            if now.as_ref().and_then(value) != value(&user.after) {
                // The operator has done something about it.
                return true;
            }
        }
        // The server or a webhook may have completed the value.
        let mut now = user.after.clone();
        if let Some(value) = self.object(&user.name).as_ref().and_then(|object| edit.path.get(object)) {
            edit.path.set(&mut now, Some(value.clone()));
        }
        match self.send(edit, user, &now, &user.before, at).await {
            // One that is gone is a difference.
            404 => true,
            code if is_success(code) => true,
            code => {
                if is_refusal(code) {
                    self.outcome.edited = Some(Edited::Irreversible);
                }
                false
            }
        }
    }

    /// Waits until the operator has done what it does about an edit. It may fail again and again, but not in a loop.
    async fn survive(&mut self, at: usize) -> bool {
        let begun = Instant::now();
        let before = self.effective();
        while begun.elapsed() < QUIET || self.session.quiet_for() < QUIET && begun.elapsed() < EDITED {
            self.pass_until_quiet(begun).await;
            if self.session.failure.has_come() || self.session.is_in_loop() {
                return false;
            }
            let writes = self.effective() - before;
            if writes > MOST_WRITES {
                let (last, time) = (self.last_write(), begun.elapsed().as_secs());
                let what =
                    format!("after step {at}, an edit causes {writes} writes in {time} s, the last {last}");
                self.outcome.findings.push(Finding::new(Oracle::FixedPoint, what));
                return false;
            }
        }
        true
    }

    /// Waits until the state is the one of the reference again.
    async fn reach_again(&mut self, reference: &Reference, expected: &Reached, user: &User, at: usize) {
        let begun = Instant::now();
        loop {
            let reached = self.now();
            let mut differences = self.differences_from(expected, reference, &reached);
            let copies = self.take_copies(user, &mut differences);
            if differences.is_empty() {
                // What the field has changed is as before; the generation is not.
                if user.copies.as_ref() == Some(&copies) {
                    self.outcome.edited = Some(Edited::ChangedNothing);
                }
                return;
            }
            if begun.elapsed() > PATIENCE {
                self.outcome.findings.extend(oracle::of_differences(at, &differences));
                return;
            }
            self.pass(POLL).await;
        }
    }

    /// What differs while the edit is there.
    fn meanwhile(&mut self, user: &mut User, reference: &Reference, expected: &Reached) -> Vec<Difference> {
        let (reached, now) = (self.now(), self.object(&user.name).unwrap_or_default());
        let differences = self.differences_from(expected, reference, &reached);
        for difference in &differences {
            if let Difference::Value { at, .. } = difference {
                user.meanwhile.insert(at.clone(), is_generation(difference, &user.before, &now));
            }
        }
        differences
    }

    /// What looks like copies of the generation, if nothing else but the spec of the object itself is another one. After the way back they
    /// have to be such again: a field that is used may have gone from 1 to 2 as well.
    fn copies(&self, user: &User, mut differences: Vec<Difference>) -> Option<BTreeSet<String>> {
        let name = self.known.names.template(&user.name.resource, &user.name.name);
        let spec = format!("{}.spec", ObjectName { name, ..user.name.clone() });
        let copies = self.take_copies(user, &mut differences);
        let is_own = |difference: &Difference| match difference {
            Difference::Value { at, .. } => at.starts_with(&spec),
            _ => false,
        };
        differences.iter().all(is_own).then_some(copies)
    }

    /// Takes out the differences that are copies of the generation, and tells where they are.
    fn take_copies(&self, user: &User, differences: &mut Vec<Difference>) -> BTreeSet<String> {
        let now = self.object(&user.name).unwrap_or_default();
        let taken = differences.extract_if(.., |difference| user.is_copy(difference, &now));
        let at = |difference| match difference {
            Difference::Value { at, .. } => Some(at),
            _ => None,
        };
        taken.filter_map(at).collect()
    }

    fn differences_from(
        &self,
        expected: &Reached,
        reference: &Reference,
        reached: &Reached,
    ) -> Vec<Difference> {
        let mut differences = self.all_differences(expected, reference, &reached.normal, &reached.external);
        differences.retain(|difference| !self.scenario.allows.allow(&difference.to_string()));
        differences
    }

    fn now(&mut self) -> Reached {
        let state = self.session.state();
        self.hidden.learn(&state);
        self.plain(state, self.world.state())
    }

    fn plain(&self, state: State, external: Value) -> Reached {
        let state = without_history(&state);
        Reached { normal: normalize(&state, &self.known.names), state, external }
    }

    /// What the edit is about. `None` if it has no place in this run.
    async fn user(&self, edit: &Edit) -> Option<User> {
        let state = self.session.state();
        let is_meant = |name: &&ObjectName| {
            let template = self.known.names.template(&name.resource, &name.name);
            name.resource == edit.resource && qualified(&name.namespace, &template) == edit.name
        };
        let name = state.0.keys().find(is_meant)?.clone();
        let mut before = state.0.get(&name)?.clone();
        let mut after;
        match edit.fault {
            EditFault::Label => {
                for field in ["labels", "annotations"] {
                    let added = before["metadata"].as_object_mut()?.entry(field);
                    added.or_insert_with(|| json!({}));
                }
                after = before.clone();
                after["metadata"]["labels"][LABEL] = "yes".into();
                after["metadata"]["annotations"][LABEL] = "yes".into();
            }
            EditFault::WipeStatus => {
                let reports = self.session.trace(|trace| trace.statuses.clone());
                after = without_status(&name, &before, reports.iter())?;
            }
            EditFault::Overwrite => {
                after = before.clone();
                let value = overwriting(&edit.resource, &edit.path, &before)?;
                edit.path.set(&mut after, Some(value)).then_some(())?;
            }
            _ => {
                let definitions = self.session.definitions();
                let mut edits = of_fields(&definitions, &before)?.edits.into_iter();
                let found = edits.find(|found| (found.fault, &found.path) == (edit.fault, &edit.path))?;
                after = before.clone();
                found.path.set(&mut after, found.value).then_some(())?;
            }
        }
        // The operator may have installed the definition.
        let installed = Kinds::discover(&self.session.server).await;
        let path = installed.of(&before)?.path(&name.namespace, &name.name);
        Some(User { name, path, before, after, copies: None, meanwhile: BTreeMap::new() })
    }

    fn object(&self, name: &ObjectName) -> Option<Value> {
        self.session.state().0.remove(name)
    }

    /// Patches the object as a user does, again while a webhook is away; the code of the answer. One that is no refusal is a finding: the
    /// webhook of the operator has to say what it does not want.
    async fn send(&mut self, edit: &Edit, user: &User, from: &Value, to: &Value, at: usize) -> u16 {
        let subresource = if edit.fault == EditFault::WipeStatus { "/status" } else { "" };
        let uri = format!("{}{subresource}?fieldManager={USER}", user.path);
        let patch = merge_patch(from, to);
        let content_type = "application/merge-patch+json";
        let sent = send_again(&self.session, "PATCH", &uri, content_type, Some(&patch));
        let (code, answer) = sent.await;
        let why = if is_success(code) { "" } else { answer["message"].as_str().unwrap_or_default() };
        self.session.log(format!("user: PATCH {}{subresource} → {code} {why}", user.path).trim_end());
        self.session.check_invariants();
        if !is_success(code) && !is_refusal(code) {
            let sent = if *to == user.before { "the way back" } else { "the edit" };
            let what = format!("after step {at}, {sent} fails: {code} {why}");
            self.outcome.findings.push(Finding::new(Oracle::Workload, what));
        }
        code
    }
}

fn is_success(code: u16) -> bool {
    (200..=299).contains(&code)
}

/// Whether the server, a policy or a webhook has looked at the request, and says no.
fn is_refusal(code: u16) -> bool {
    (400..=499).contains(&code)
}

/// Whether a value is the generation of the object, which each edit raises.
fn is_generation(difference: &Difference, before: &Value, now: &Value) -> bool {
    let Difference::Value { how, .. } = difference else { return false };
    let [before, now] = [before, now].map(|object| object["metadata"]["generation"].to_string());
    *how == format!("{now} instead of {before}") || *how == format!("\"{now}\" instead of \"{before}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_generation_is_no_difference() {
        let [before, now] = [1, 3].map(|generation| json!({"metadata": {"generation": generation}}));
        let is = |how: &str| {
            let difference = Difference::Value { at: "configmaps a.data.x".to_owned(), how: how.to_owned() };
            is_generation(&difference, &before, &now)
        };
        assert!(is("3 instead of 1") && is("\"3\" instead of \"1\""));
        assert!(!is("1 instead of 3") && !is("3 instead of null") && !is("\"13\" instead of \"1\""));
        assert!(!is_generation(&Difference::Missing("configmaps a".to_owned()), &before, &now));
    }

    /// Not yet copied while the edit was there, copied, and something else.
    #[test]
    fn what_was_another_value_meanwhile_is_no_copy() {
        let [before, now] = [1, 3].map(|generation| json!({"metadata": {"generation": generation}}));
        let difference =
            Difference::Value { at: "configmaps a.data.x".to_owned(), how: "3 instead of 1".to_owned() };
        for (meanwhile, is) in [(None, true), (Some(true), true), (Some(false), false)] {
            let meanwhile = meanwhile.map(|is| ("configmaps a.data.x".to_owned(), is)).into_iter().collect();
            let user = User {
                name: ObjectName::default(),
                path: String::new(),
                before: before.clone(),
                after: Value::Null,
                copies: None,
                meanwhile,
            };
            assert_eq!(user.is_copy(&difference, &now), is);
        }
    }
}
