//! The steps of a rotation, and that every order of them keeps the certificate valid.

use super::*;
use crate::webhook::certificates::generation::Key;

const DAY: u64 = 24 * 3600;

fn generation(number: u64, issued: Timestamp) -> Generation {
    Generation {
        ca: format!("[ca {number}]"),
        certificate: format!("certificate {number}"),
        key: Key(String::new()),
        names: names(),
        issued,
        expires: issued + 90 * DAY,
    }
}

fn names() -> Vec<String> {
    vec!["hooks.web.svc".to_owned()]
}

fn step(stored: &Stored, injected: &[Option<&str>], now: Timestamp) -> Step {
    next_step(Some(stored), &found(injected), &names(), now)
}

fn found(bundles: &[Option<&str>]) -> Injected {
    let bundles = bundles.iter().map(|found| found.map(str::to_owned)).collect();
    Injected { bundles, incomplete: false }
}

/// The state after a certificate was issued, with nothing injected.
fn issued(stored: Option<Stored>, step: &Step, generation: Generation) -> Stored {
    super::issued(stored, step, generation, &Injected::default(), 0)
}

#[test]
fn without_a_certificate_or_with_an_expired_one_a_new_one_is_issued() {
    assert_eq!(next_step(None, &found(&[]), &names(), 5), Step::Issue);
    let mut stored = Stored::new(generation(1, 0));
    assert_eq!(step(&stored, &[], 90 * DAY), Step::Issue);
    stored.next = Some(Next { generation: generation(2, 60 * DAY), injected: None });
    assert_eq!(step(&stored, &[], 90 * DAY), Step::Issue);
    let fresh = issued(Some(stored), &Step::Issue, generation(3, 90 * DAY));
    assert_eq!(fresh, Stored::new(generation(3, 90 * DAY)));
}

#[test]
fn the_bundle_is_injected_wherever_it_differs() {
    let stored = Stored::new(generation(1, 0));
    assert_eq!(step(&stored, &[], 1), Step::Wait, "nothing to inject into");
    assert_eq!(step(&stored, &[Some("[ca 1]"), Some("[ca 1]")], 1), Step::Wait);
    for found in [None, Some(""), Some("[ca 0]"), Some("[ca 1][ca 0]")] {
        assert_eq!(step(&stored, &[Some("[ca 1]"), found], 1), Step::Inject("[ca 1]".into()), "{found:?}");
    }
}

#[test]
fn a_certificate_is_renewed_after_two_thirds_of_its_validity_or_for_other_names() {
    let stored = Stored::new(generation(1, 0));
    assert_eq!(step(&stored, &[Some("[ca 1]")], 60 * DAY - 1), Step::Wait);
    assert_eq!(step(&stored, &[Some("[ca 1]")], 60 * DAY), Step::Stage);
    let other = vec!["other.web.svc".to_owned()];
    assert_eq!(next_step(Some(&stored), &found(&[]), &other, 1), Step::Stage);
    let both = names_for(&Step::Stage, Some(&stored), &other);
    assert_eq!(both, ["other.web.svc", "hooks.web.svc"], "a replica of another version agrees");
    assert_eq!(names_for(&Step::Issue, Some(&stored), &other), other);
    let agreed = Stored::new(Generation { names: both, ..generation(1, 0) });
    for names in [names(), other.clone()] {
        assert_eq!(next_step(Some(&agreed), &found(&[]), &names, 1), Step::Wait);
    }
    let mut staged = issued(Some(stored), &Step::Stage, generation(2, 1));
    assert_eq!(
        next_step(Some(&staged), &found(&[]), &other, 1),
        Step::Stage,
        "the next one has the wrong names too"
    );
    staged.next = Some(Next { generation: generation(2, 1), injected: None });
    staged.serving = generation(1, 40 * DAY);
    assert_eq!(step(&staged, &[], 105 * DAY), Step::Stage, "the next one has expired while it waited");
}

/// Follows a rotation and returns (time, bundle, served certificate) at each change; injection works from `injectable`.
fn history(
    mut stored: Stored,
    from: Timestamp,
    until: Timestamp,
    injectable: Timestamp,
) -> Vec<(Timestamp, String, String)> {
    let (mut now, mut injected, mut number) = (from, stored.bundle(), 1);
    let mut history: Vec<(Timestamp, String, String)> = Vec::new();
    while now < until {
        let seen = (injected.clone(), stored.serving.certificate.clone());
        if history.last().is_none_or(|(_, bundle, served)| (bundle, served) != (&seen.0, &seen.1)) {
            history.push((now, seen.0, seen.1));
        }
        match step(&stored, &[Some(&injected)], now) {
            Step::Store(new) => stored = *new,
            wanted @ (Step::Issue | Step::Stage) => {
                number += 1;
                stored = issued(Some(stored), &wanted, generation(number, now));
            }
            Step::Inject(bundle) if now >= injectable => injected = bundle,
            Step::Inject(_) | Step::Wait => now += 30,
        }
    }
    history
}

#[test]
fn both_authorities_are_trusted_before_and_after_the_certificate_changes() {
    let history = history(Stored::new(generation(1, 0)), 0, 120 * DAY - 1, 0);
    let row = |at: u64, bundle: &str, served: u64| (at, bundle.to_owned(), format!("certificate {served}"));
    let renewed = 60 * DAY;
    assert_eq!(
        history,
        [
            row(0, "[ca 1]", 1),
            row(renewed, "[ca 1][ca 2]", 1),
            row(renewed + PROPAGATION, "[ca 1][ca 2]", 2),
            row(renewed + PROPAGATION, "[ca 2][ca 1]", 2),
            row(90 * DAY, "[ca 2]", 2),
        ]
    );
}

#[test]
fn nothing_is_promoted_before_its_authority_was_injected() {
    let injectable = 75 * DAY;
    let history = history(Stored::new(generation(1, 0)), 0, 80 * DAY, injectable);
    let promoted = history.iter().find(|(_, _, served)| served == "certificate 2").unwrap();
    assert_eq!(promoted.0, injectable + PROPAGATION);
}

#[test]
fn a_clock_that_was_set_back_delays_promotion_by_one_propagation_only() {
    let stored = Stored {
        next: Some(Next { generation: generation(2, 70 * DAY), injected: Some(70 * DAY) }),
        ..Stored::new(generation(1, 0))
    };
    let bundle = Some("[ca 1][ca 2]");
    assert!(matches!(step(&stored, &[bundle], 70 * DAY - SKEW), Step::Store(new) if new.next.is_none()));
    assert_eq!(step(&stored, &[bundle], 70 * DAY + 1), Step::Wait);
    assert_eq!(step(&stored, &[bundle], 65 * DAY), Step::Stage, "the next one is not valid yet");
}

#[test]
fn a_certificate_that_is_not_valid_yet_is_replaced() {
    let stored = Stored::new(generation(1, 400 * DAY));
    assert_eq!(step(&stored, &[Some("[ca 1]")], 399 * DAY), Step::Issue);
    assert_eq!(
        step(&stored, &[Some("[ca 1]")], 400 * DAY - SKEW),
        Step::Wait,
        "valid: it begins an hour before"
    );
}

#[test]
fn authorities_of_a_lost_state_stay_for_an_hour() {
    let block = |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let both = block("AAAA") + &block("BBBB");
    let one = block("AAAA");
    let injected = found(&[Some(&both), None, Some(&one), Some("odd")]);
    let stored = super::issued(None, &Step::Issue, generation(1, 1000), &injected, 1000);
    assert_eq!(stored.bundle(), format!("[ca 1]{both}"));
    assert!(
        matches!(step(&stored, &[Some(&stored.bundle())], 1000 + OVERLAP), Step::Store(new) if new.retired.is_empty())
    );
}

#[test]
fn a_place_out_of_reach_holds_a_rotation_up_but_not_for_ever() {
    let stored = Stored {
        next: Some(Next { generation: generation(2, 60 * DAY), injected: Some(60 * DAY) }),
        ..Stored::new(generation(1, 0))
    };
    let bundles = vec![Some("[ca 1][ca 2]".to_owned())];
    let at = |now| {
        next_step(Some(&stored), &Injected { bundles: bundles.clone(), incomplete: true }, &names(), now)
    };
    assert_eq!(at(61 * DAY), Step::Wait);
    assert!(matches!(at(75 * DAY), Step::Store(new) if new.next.is_none()));
}
