//! The machine of `cargo kube dev`: every event in every state that matters, and random orders.

use super::*;
use proptest::prelude::*;

const PROGRAM: &str = "target/debug/op";

fn ok(fresh: bool) -> Event {
    Event::Built(Ok(Built { executable: PROGRAM.into(), fresh }))
}

fn broken() -> Event {
    Event::Built(Err("op does not build".to_owned()))
}

fn started() -> Effect {
    Effect::Start(PROGRAM.into())
}

/// A machine and its clock.
struct Run {
    machine: Machine,
    now: Instant,
}

impl Run {
    fn new() -> Self {
        let (machine, effects) = Machine::start();
        assert_eq!(effects, [Effect::Build]);
        Self { machine, now: Instant::now() }
    }

    /// With an operator that runs.
    fn running() -> Self {
        let mut run = Self::new();
        assert_eq!(run.on(ok(false)), [Effect::Register(PROGRAM.into())]);
        assert_eq!(run.on(Event::Registered(Ok(()))), [started()]);
        run
    }

    fn on(&mut self, event: Event) -> Vec<Effect> {
        self.machine.handle(event, self.now)
    }

    /// Time passes; deadlines are met as the shell does.
    fn wait(&mut self, time: Duration) -> Vec<Effect> {
        let end = self.now + time;
        let mut effects = Vec::new();
        while let Some(at) = self.machine.deadline().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            effects.extend(self.on(Event::Time));
        }
        self.now = end;
        effects
    }

    /// A change that is built at once.
    fn change(&mut self) {
        assert_eq!(self.on(Event::Changed), []);
        assert_eq!(self.wait(QUIET), [Effect::Build]);
    }
}

#[test]
fn a_change_stops_the_old_operator_before_the_new_one_starts() {
    let mut run = Run::running();
    run.change();
    assert_eq!(run.on(ok(false)), [Effect::Register(PROGRAM.into())]);
    assert_eq!(run.on(Event::Registered(Ok(()))), [Effect::Terminate]);
    assert_eq!(run.on(Event::Exited("exit code 0".into())), [started()]);
    assert_eq!(run.machine.deadline(), None);
}

#[test]
fn changes_are_collected() {
    let mut run = Run::running();
    run.on(Event::Changed);
    for _ in 0..9 {
        assert_eq!(run.wait(QUIET - Duration::from_millis(1)), []);
        run.on(Event::Changed);
    }
    assert_eq!(run.wait(QUIET), [Effect::Build], "two seconds after the first");
    let mut run = Run::running();
    run.on(Event::Changed);
    run.wait(QUIET / 2);
    run.on(Event::Changed);
    assert_eq!(run.wait(QUIET - Duration::from_millis(1)), []);
    assert_eq!(run.wait(Duration::from_millis(1)), [Effect::Build]);
}

#[test]
fn a_change_during_a_build_is_built_next() {
    for result in [broken(), ok(true)] {
        let mut run = Run::running();
        run.change();
        run.on(Event::Changed);
        run.on(result);
        assert_eq!(run.wait(QUIET), [Effect::Build]);
    }
    let mut run = Run::running();
    run.change();
    run.on(ok(false));
    run.on(Event::Changed);
    run.on(Event::Registered(Ok(())));
    assert_eq!(run.wait(QUIET), [Effect::Build]);
}

#[test]
fn a_failure_leaves_the_old_operator() {
    let mut run = Run::running();
    run.change();
    let said = "op does not build; the old operator goes on, until the next change";
    assert_eq!(run.on(broken()), [Effect::Say(said.into())]);
    run.change();
    run.on(ok(false));
    assert!(matches!(run.on(Event::Registered(Err("no".into())))[..], [Effect::Say(_)]));
    // The program was built already, but the server does not know it.
    run.change();
    assert_eq!(run.on(ok(true)), [Effect::Register(PROGRAM.into())]);
    let mut first = Run::new();
    assert_eq!(first.on(broken()), [Effect::Say("op does not build; waiting for the next change".into())]);
}

#[test]
fn a_change_that_makes_no_new_program_restarts_nothing() {
    let mut run = Run::running();
    run.change();
    assert_eq!(run.on(ok(true)), []);
    // One that has ended is started again.
    assert!(matches!(run.on(Event::Exited("exit code 1".into()))[..], [Effect::Say(_)]));
    run.change();
    assert_eq!(run.on(ok(true)), [Effect::Register(PROGRAM.into())]);
    assert_eq!(run.on(Event::Registered(Ok(()))), [started()]);
}

#[test]
fn an_operator_that_does_not_end_is_killed() {
    let mut run = Run::running();
    run.change();
    run.on(ok(false));
    run.on(Event::Registered(Ok(())));
    assert_eq!(run.wait(GRACE - Duration::from_millis(1)), []);
    assert!(matches!(run.wait(Duration::from_millis(1))[..], [Effect::Say(_), Effect::Kill]));
    assert_eq!(run.wait(GRACE * 2), [], "once");
    assert_eq!(run.on(Event::Exited("signal 9".into())), [started()]);
}

#[test]
fn a_program_that_is_built_while_the_old_one_stops_is_the_one_that_starts() {
    let mut run = Run::running();
    run.change();
    run.on(ok(false));
    run.on(Event::Registered(Ok(())));
    run.change();
    run.on(Event::Built(Ok(Built { executable: "newer".into(), fresh: false })));
    assert_eq!(run.on(Event::Registered(Ok(()))), []);
    assert_eq!(run.on(Event::Exited("exit code 0".into())), [Effect::Start("newer".into())]);
}

#[test]
fn stopping_waits_for_the_operator() {
    let mut run = Run::running();
    assert_eq!(run.on(Event::Stop), [Effect::Terminate]);
    assert_eq!(run.on(Event::Changed), []);
    assert_eq!(run.wait(QUIET), []);
    assert_eq!(run.on(Event::Exited("exit code 0".into())), [Effect::End]);
}

#[test]
fn stopping_ends_a_build_and_starts_nothing() {
    let mut run = Run::new();
    assert_eq!(run.on(Event::Stop), [Effect::Cancel, Effect::End]);
    let mut run = Run::running();
    run.change();
    run.on(ok(false));
    run.on(Event::Registered(Ok(())));
    assert_eq!(run.on(Event::Stop), [], "it was asked to end already");
    assert_eq!(run.on(Event::Stop), [Effect::Kill], "the second time it is not waited for");
    assert_eq!(run.on(Event::Stop), []);
    assert_eq!(run.on(Event::Exited("signal 9".into())), [Effect::End]);
}

/// What runs, as the shell would have it.
struct World {
    work: Option<Effect>,
    operator: bool,
    ended: bool,
}

impl World {
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Build | Effect::Register(_) => {
                    assert_eq!(self.work.replace(effect), None);
                }
                Effect::Cancel => assert!(self.work.take().is_some()),
                Effect::Start(_) => assert!(!std::mem::replace(&mut self.operator, true)),
                Effect::Terminate | Effect::Kill => assert!(self.operator),
                Effect::Say(_) => {}
                Effect::End => {
                    assert!(!self.operator && self.work.is_none());
                    self.ended = true;
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn in_any_order_there_is_one_operator_and_one_work_and_a_stop_ends_both(
        choices in prop::collection::vec(0..7, 0..80),
    ) {
        let mut run = Run::new();
        let mut world = World { work: Some(Effect::Build), operator: false, ended: false };
        for choice in choices {
            let event = match (choice, &world.work) {
                (0, _) => Event::Changed,
                (1, Some(Effect::Build)) => ok(false),
                (2, Some(Effect::Build)) => ok(true),
                (3, Some(Effect::Build)) => broken(),
                (1 | 2, Some(_)) => Event::Registered(Ok(())),
                (3, Some(_)) => Event::Registered(Err("no".into())),
                (4, _) if world.operator => Event::Exited("exit code 1".into()),
                (5, _) => {
                    let effects = run.wait(QUIET);
                    world.perform(effects);
                    continue;
                }
                (6, _) => {
                    let effects = run.wait(GRACE);
                    world.perform(effects);
                    continue;
                }
                _ => continue,
            };
            match event {
                Event::Built(_) | Event::Registered(_) => world.work = None,
                Event::Exited(_) => world.operator = false,
                _ => {}
            }
            let effects = run.on(event);
            world.perform(effects);
        }
        let effects = run.on(Event::Stop);
        world.perform(effects);
        if world.operator {
            prop_assert!(!world.ended);
            world.operator = false;
            let effects = run.on(Event::Exited("exit code 0".into()));
            world.perform(effects);
        }
        prop_assert!(world.ended && run.machine.deadline().is_none());
    }
}
