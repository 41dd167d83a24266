//! Every transition of the life of a cluster.

use super::*;
use tokio::time::advance;

const GRACE: Duration = Duration::from_secs(20);

fn now() -> Instant {
    Instant::now()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn unreachable(why: &str) -> Fault {
    Fault::Unreachable(why.to_owned())
}

fn look(synced: bool, fault: Option<Fault>) -> Look {
    Look { synced, fault }
}

/// A unit whose controllers were started.
fn running() -> Unit {
    let (mut unit, asked) = Unit::new(GRACE, now());
    assert_eq!(asked, [Effect::AskPlace(Attempt::First)]);
    assert_eq!(unit.placed(now()), [Effect::Connect]);
    assert_eq!(unit.connected(Ok(()), now()), [Effect::Start]);
    unit
}

fn synced() -> Unit {
    let mut unit = running();
    assert_eq!(unit.looked_at(look(true, None), now()), [Effect::LeavePlace]);
    unit
}

/// State, seconds in it, and reason.
fn shown(unit: &Unit) -> (ClusterState, u64, Option<&str>) {
    let (state, since, reason) = unit.state();
    (state, (now() - since).as_secs(), reason)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_connects_and_is_synced_once_its_first_lists_are_complete() {
    let mut unit = running();
    advance(seconds(2)).await;
    assert_eq!(unit.looked_at(look(false, None), now()), []);
    assert_eq!(shown(&unit), (ClusterState::Connecting, 2, None));
    assert_eq!(unit.looked_at(look(true, None), now()), [Effect::LeavePlace]);
    advance(seconds(5)).await;
    assert_eq!(unit.looked_at(look(true, None), now()), [], "the place is left once");
    assert_eq!(shown(&unit), (ClusterState::Synced, 5, None));
    assert_eq!(unit.next_timer(), None);
}

#[tokio::test(start_paused = true)]
async fn first_lists_that_take_long_or_fail_leave_the_place_to_others() {
    let mut unit = running();
    assert_eq!(unit.next_timer(), Some(now() + FIRST_LISTS));
    advance(FIRST_LISTS).await;
    assert_eq!(unit.timer(now()), [Effect::LeavePlace]);
    assert_eq!(shown(&unit).0, ClusterState::Connecting);
    assert_eq!((unit.next_timer(), unit.timer(now())), (None, vec![]));
    let mut failing = running();
    assert_eq!(failing.looked_at(look(false, Some(unreachable("reset"))), now()), [Effect::LeavePlace]);
}

/// Clusters that are away at the start would delay all others by a time-out each.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_soon_lends_its_place_and_asks_for_another_one_once_it_does() {
    let lent = async || {
        let (mut unit, _) = Unit::new(GRACE, now());
        unit.placed(now());
        assert_eq!(unit.next_timer(), Some(now() + FIRST_ANSWER));
        advance(FIRST_ANSWER).await;
        assert_eq!(unit.timer(now()), [Effect::LendPlace]);
        assert_eq!(unit.next_timer(), None);
        unit
    };
    let answered = async || {
        let mut unit = lent().await;
        assert_eq!(unit.connected(Ok(()), now()), [Effect::AskPlace(Attempt::First)]);
        unit
    };
    let mut unit = answered().await;
    assert_eq!((unit.repeated(now()), shown(&unit).0), (vec![], ClusterState::Connecting));
    assert_eq!(unit.placed(now()), [Effect::Start]);
    assert_eq!(unit.looked_at(look(true, None), now()), [Effect::LeavePlace]);

    let mut silent = lent().await;
    assert_eq!(silent.announced(now()), [Effect::Connect], "with the newest");
    assert_eq!(silent.connected(Err(unreachable("timeout")), now()), [], "its place is that of another");
    assert_eq!(lent().await.removed(now()), [Effect::CleanUp]);
    assert_eq!(lent().await.refused("it is a twin".into(), now()), []);
    assert_eq!(answered().await.removed(now()), [Effect::LeavePlace, Effect::CleanUp]);
    assert_eq!(answered().await.refused("it is the hub".into(), now()), [Effect::LeavePlace]);
    let mut changed = answered().await;
    assert_eq!(changed.announced(now()), [], "it has asked already");
    assert_eq!(changed.placed(now()), [Effect::Connect]);
}

/// An alert looks at how long a cluster has failed.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_controllers_end_at_each_start_has_failed_since_the_first_time() {
    let mut unit = running();
    for _ in 0..15 {
        assert_eq!(unit.broke("a panic".into(), now()), [Effect::LeavePlace, Effect::Stop]);
        unit.stopped(now());
        advance(LONGEST_WAIT).await;
        unit.timer(now());
        unit.placed(now());
        assert_eq!(unit.connected(Ok(()), now()), [Effect::Start]);
    }
    unit.broke("a panic".into(), now());
    assert_eq!(shown(&unit), (ClusterState::Failed, 15 * LONGEST_WAIT.as_secs(), Some("a panic")));
    unit.stopped(now());
    advance(LONGEST_WAIT).await;
    unit.timer(now());
    unit.placed(now());
    unit.connected(Ok(()), now());
    unit.looked_at(look(true, None), now());
    unit.broke("a panic".into(), now());
    assert_eq!(shown(&unit).1, 0, "it was in sync meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_is_tried_again_ever_more_seldom() {
    let (mut unit, _) = Unit::new(GRACE, now());
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(unit.placed(now()), [Effect::Connect]);
        assert_eq!(unit.connected(Err(unreachable("refused")), now()), [Effect::LeavePlace]);
        assert_eq!(unit.next_timer(), Some(now() + seconds(wait)));
        assert_eq!(unit.timer(now()), [], "not yet");
        advance(seconds(wait)).await;
        assert_eq!(unit.timer(now()), [Effect::AskPlace(Attempt::Again)]);
    }
    assert_eq!(
        shown(&unit),
        (ClusterState::Unreachable, 183, Some("refused")),
        "also while it waits for a place"
    );
    unit.placed(now());
    assert_eq!(unit.connected(Ok(()), now()), [Effect::Start]);
    assert_eq!(shown(&unit), (ClusterState::Connecting, 0, None));
    unit.looked_at(look(true, None), now());
    assert_eq!(unit.broke("ended".into(), now()), [Effect::Stop]);
    unit.stopped(now());
    assert_eq!(unit.next_timer(), Some(now() + seconds(1)), "what worked begins anew");
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_tried_again_and_others_at_once() {
    let (mut unit, _) = Unit::new(GRACE, now());
    unit.placed(now());
    unit.connected(Err(Fault::Forbidden("401".into())), now());
    assert_eq!(shown(&unit), (ClusterState::Forbidden, 0, Some("401")));
    assert_eq!(unit.announced(now()), [Effect::AskPlace(Attempt::Again)]);
    assert_eq!(unit.announced(now()), [], "it waits already");
    assert_eq!(unit.placed(now()), [Effect::Connect]);
    assert_eq!(unit.announced(now()), [Effect::Connect], "with the newest");
    assert_eq!(unit.connected(Ok(()), now()), [Effect::Start]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_waits_for_another_announcement() {
    let (mut unit, _) = Unit::new(GRACE, now());
    unit.placed(now());
    assert_eq!(unit.connected(Err(Fault::Failed("no CA".into())), now()), [Effect::LeavePlace]);
    advance(LONGEST_WAIT - seconds(1)).await;
    assert_eq!((unit.timer(now()), shown(&unit)), (vec![], (ClusterState::Failed, 59, Some("no CA"))));
    assert_eq!(unit.announced(now()), [Effect::AskPlace(Attempt::Again)]);
    unit.placed(now());
    assert_eq!(unit.refused("it is a twin".into(), now()), [Effect::LeavePlace]);
    advance(seconds(1_000)).await;
    assert_eq!(
        (unit.next_timer(), shown(&unit)),
        (None, (ClusterState::Failed, 1_059, Some("it is a twin")))
    );
    assert_eq!(unit.announced(now()), [Effect::AskPlace(Attempt::Again)]);
    assert_eq!(synced().freed(now()), [Effect::Exchange], "its new address may be free");
    let mut hub = synced();
    assert_eq!(hub.refused("it is the hub".into(), now()), [Effect::Stop]);
    assert_eq!(hub.stopped(now()), []);
    assert_eq!((hub.next_timer(), shown(&hub)), (None, (ClusterState::Failed, 0, Some("it is the hub"))));
}

/// The file that a kubeconfig names may come later.
#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_used_is_tried_again_seldom() {
    let (mut unit, _) = Unit::new(GRACE, now());
    for _ in 0..3 {
        unit.placed(now());
        assert_eq!(unit.connected(Err(Fault::Failed("no CA".into())), now()), [Effect::LeavePlace]);
        assert_eq!(unit.next_timer(), Some(now() + LONGEST_WAIT));
        advance(LONGEST_WAIT).await;
        assert_eq!(unit.timer(now()), [Effect::AskPlace(Attempt::Again)]);
    }
    assert_eq!(shown(&unit), (ClusterState::Failed, 180, Some("no CA")));
}

#[tokio::test(start_paused = true)]
async fn the_same_announcement_again_disturbs_no_attempt() {
    let (mut unit, _) = Unit::new(GRACE, now());
    assert_eq!(unit.repeated(now()), []);
    unit.placed(now());
    assert_eq!(unit.repeated(now()), [], "the attempt goes on");
    assert_eq!(unit.connected(Err(unreachable("refused")), now()), [Effect::LeavePlace]);
    let next = unit.next_timer();
    assert_eq!((unit.repeated(now()), unit.next_timer()), (vec![], next));
    let mut refused = synced();
    refused.refused("it is a twin".into(), now());
    refused.repeated(now());
    refused.stopped(now());
    assert_eq!((refused.next_timer(), refused.repeated(now())), (None, vec![]), "it would be refused again");
    let mut back = synced();
    back.removed(now());
    back.repeated(now());
    assert_eq!(back.stopped(now()), [Effect::Forget, Effect::AskPlace(Attempt::First)]);
    assert_eq!(synced().repeated(now()), [Effect::Exchange]);
}

#[tokio::test(start_paused = true)]
async fn another_cluster_that_has_the_name_while_the_old_one_leaves_waits_for_its_clean_up() {
    let mut unit = synced();
    assert_eq!(unit.announced_elsewhere(now()), [Effect::Exchange], "it does not leave");
    unit.removed(now());
    unit.announced_elsewhere(now());
    assert_eq!(unit.repeated(now()), []);
    assert_eq!((shown(&unit).0, unit.is_leaving()), (ClusterState::Leaving, true));
    assert_eq!(unit.stopped(now()), [Effect::CleanUp]);
    assert!(unit.is_replaced());
    assert_eq!(unit.cleaned_up(now()), [Effect::Forget, Effect::AskPlace(Attempt::First)]);
    let mut gone = synced();
    gone.removed(now());
    gone.announced_elsewhere(now());
    gone.removed(now());
    assert_eq!(gone.stopped(now()), [Effect::CleanUp]);
    assert_eq!(gone.cleaned_up(now()), [Effect::Forget]);
}

/// Not so if the same cluster comes back: then it is not cleaned up on.
#[tokio::test(start_paused = true)]
async fn a_clean_up_that_has_not_begun_when_the_name_has_another_address_asks_first_who_is_there() {
    let leaving = || {
        let (mut unit, _) = Unit::new(GRACE, now());
        unit.placed(now());
        unit.connected(Err(unreachable("refused")), now());
        assert_eq!(unit.removed(now()), [Effect::CleanUp]);
        unit
    };
    let mut unit = leaving();
    assert_eq!(unit.announced_elsewhere(now()), [Effect::WithdrawCleanUp]);
    assert_eq!(unit.clean_up_withdrawn(now()), [Effect::CleanUp]);
    assert!(unit.is_replaced());
    assert_eq!(unit.removed(now()), [Effect::WithdrawCleanUp], "nobody has to be asked any more");
    assert_eq!((unit.clean_up_withdrawn(now()), unit.is_replaced()), (vec![Effect::CleanUp], false));
    assert_eq!(unit.cleaned_up(now()), [Effect::Forget]);
    let anew = [Effect::Forget, Effect::AskPlace(Attempt::First)];
    let mut begun = leaving();
    begun.announced_elsewhere(now());
    assert_eq!(begun.cleaned_up(now()), anew);
    let mut back = leaving();
    back.announced_elsewhere(now());
    back.announced(now());
    assert_eq!(back.clean_up_withdrawn(now()), anew);
    let mut gone = leaving();
    gone.announced(now());
    gone.removed(now());
    assert_eq!(gone.clean_up_withdrawn(now()), [Effect::CleanUp], "the last word counts");
}

#[tokio::test(start_paused = true)]
async fn failing_watches_are_tolerated_for_a_moment_and_then_make_it_unreachable_since_they_began() {
    let mut unit = synced();
    unit.looked_at(look(true, Some(unreachable("reset"))), now());
    advance(seconds(2)).await;
    unit.looked_at(look(true, Some(unreachable("refused"))), now());
    assert_eq!(shown(&unit), (ClusterState::Synced, 2, None));
    advance(seconds(1)).await;
    unit.looked_at(look(true, Some(unreachable("refused"))), now());
    assert_eq!(shown(&unit), (ClusterState::Unreachable, 3, Some("refused")));
    unit.looked_at(look(true, Some(Fault::Forbidden("403".into()))), now());
    assert_eq!(shown(&unit), (ClusterState::Forbidden, 3, Some("403")));
    assert_eq!(unit.looked_at(look(true, None), now()), [], "nothing was restarted");
    assert_eq!(shown(&unit), (ClusterState::Synced, 0, None));
}

#[tokio::test(start_paused = true)]
async fn another_announcement_of_a_running_cluster_exchanges_credentials_only() {
    let mut unit = synced();
    advance(seconds(7)).await;
    assert_eq!(unit.announced(now()), [Effect::Exchange]);
    assert_eq!(shown(&unit), (ClusterState::Synced, 7, None));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leads_to_another_cluster_makes_it_connect_until_its_controllers_show_that() {
    let mut unit = synced();
    assert_eq!((unit.moved(now()), shown(&unit).0), (vec![], ClusterState::Connecting));
    unit.looked_at(look(false, None), now());
    assert_eq!(shown(&unit).0, ClusterState::Connecting);
    unit.looked_at(look(true, None), now());
    assert_eq!(shown(&unit).0, ClusterState::Synced);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_ends_is_started_again_with_the_others() {
    let mut unit = running();
    assert_eq!(unit.broke("invalid".into(), now()), [Effect::LeavePlace, Effect::Stop]);
    assert_eq!(unit.broke("another".into(), now()), [], "it stops already");
    assert_eq!(shown(&unit), (ClusterState::Failed, 0, Some("invalid")));
    assert_eq!(unit.stopped(now()), []);
    advance(seconds(1)).await;
    assert_eq!(unit.timer(now()), [Effect::AskPlace(Attempt::Again)]);
}

#[tokio::test(start_paused = true)]
async fn a_removed_cluster_leaves_from_every_state() {
    let (mut waiting, _) = Unit::new(GRACE, now());
    assert_eq!(waiting.removed(now()), [Effect::LeavePlace, Effect::CleanUp]);
    assert_eq!(waiting.placed(now()), [Effect::LeavePlace], "the place came too late");
    let (mut connecting, _) = Unit::new(GRACE, now());
    connecting.placed(now());
    assert_eq!(connecting.removed(now()), [Effect::LeavePlace, Effect::CleanUp]);
    assert_eq!(connecting.connected(Ok(()), now()), [], "what it answers later has no effect");
    let (mut failed, _) = Unit::new(GRACE, now());
    failed.placed(now());
    failed.connected(Err(unreachable("refused")), now());
    assert_eq!(failed.removed(now()), [Effect::CleanUp]);
    assert_eq!(failed.cleaned_up(now()), [Effect::Forget]);
    assert_eq!((failed.next_timer(), failed.announced(now())), (None, vec![]));
    assert_eq!(running().removed(now()), [Effect::LeavePlace, Effect::Stop]);
    let mut unit = synced();
    assert_eq!(unit.removed(now()), [Effect::Stop]);
    assert_eq!(shown(&unit).0, ClusterState::Leaving);
    assert_eq!((unit.removed(now()), unit.looked_at(look(true, None), now())), (vec![], vec![]));
    assert_eq!(unit.stopped(now()), [Effect::CleanUp]);
    assert_eq!((unit.stopped(now()), shown(&unit).0), (vec![], ClusterState::Leaving));
    assert_eq!(unit.cleaned_up(now()), [Effect::Forget]);
    assert_eq!(unit.cleaned_up(now()), []);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_stop_within_the_grace_period_is_aborted() {
    let mut unit = synced();
    unit.removed(now());
    advance(GRACE - seconds(1)).await;
    assert_eq!(unit.timer(now()), []);
    advance(seconds(1)).await;
    assert_eq!(unit.timer(now()), [Effect::Abort]);
    assert_eq!(unit.timer(now()), [], "once in a grace period");
    assert_eq!(unit.stopped(now()), [Effect::CleanUp]);
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_after_its_abort_is_a_failure_until_it_ends() {
    let (mut leaves, mut retries) = (synced(), synced());
    leaves.removed(now());
    retries.broke("a controller ended".into(), now());
    for unit in [&mut leaves, &mut retries] {
        advance(GRACE).await;
        assert_eq!(unit.timer(now()), [Effect::Abort]);
        advance(GRACE).await;
        assert_eq!(unit.timer(now()), [Effect::FindBlocked]);
        unit.blocked("one does not end".into(), now());
        let (state, _, why) = shown(unit);
        assert_eq!((state, why), (ClusterState::Failed, Some("one does not end")));
        advance(GRACE).await;
        assert_eq!(unit.timer(now()), [Effect::FindBlocked]);
    }
    leaves.announced(now());
    assert_eq!(shown(&leaves).0, ClusterState::Failed, "it is down still");
    assert_eq!(leaves.stopped(now()), [Effect::Forget, Effect::AskPlace(Attempt::First)]);
    assert_eq!(shown(&leaves), (ClusterState::Connecting, 0, None));
    retries.stopped(now());
    let (state, _, why) = shown(&retries);
    assert_eq!((state, why), (ClusterState::Failed, Some("a controller ended")));

    // The next one that stops has a grace period again.
    let mut again = leaves;
    again.placed(now());
    again.connected(Ok(()), now());
    again.removed(now());
    advance(GRACE).await;
    assert_eq!(again.timer(now()), [Effect::Abort]);
    again.stopped(now());
    again.blocked("it has ended".into(), now());
    assert_eq!(shown(&again).0, ClusterState::Leaving);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_program_there_is_less_time_to_stop_in() {
    let (mut stopping, mut unit) = (synced(), synced());
    stopping.removed(now());
    for unit in [&mut stopping, &mut unit] {
        unit.limit_grace_period(seconds(5), now());
        unit.removed(now());
        assert_eq!(unit.next_timer(), Some(now() + seconds(5)));
    }
    unit.limit_grace_period(seconds(50), now());
    assert_eq!(unit.next_timer(), Some(now() + seconds(5)));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_comes_back_while_it_leaves_starts_anew_after_its_end() {
    let mut unit = synced();
    unit.removed(now());
    assert_eq!(unit.announced(now()), []);
    assert_eq!(shown(&unit).0, ClusterState::Leaving);
    assert_eq!(unit.stopped(now()), [Effect::Forget, Effect::AskPlace(Attempt::First)]);
    assert_eq!(shown(&unit), (ClusterState::Connecting, 0, None));
    assert_eq!(unit.placed(now()), [Effect::Connect]);
    let mut gone = synced();
    gone.removed(now());
    gone.announced(now());
    gone.removed(now());
    assert_eq!(gone.stopped(now()), [Effect::CleanUp], "the last word counts");
    assert_eq!(
        (gone.announced(now()), shown(&gone).0),
        (vec![Effect::WithdrawCleanUp], ClusterState::Leaving)
    );
    assert_eq!(gone.cleaned_up(now()), [Effect::Forget, Effect::AskPlace(Attempt::First)]);
    let mut gone = synced();
    gone.removed(now());
    gone.stopped(now());
    gone.announced(now());
    assert_eq!(gone.removed(now()), []);
    assert_eq!(gone.cleaned_up(now()), [Effect::Forget]);
}

/// What a supervisor has for the unit, by the effects so far.
#[derive(Debug, Default)]
struct Supervised {
    asked: bool,
    has_place: bool,
    connects: bool,
    runs: bool,
    stops: bool,
    cleans_up: bool,
    withdrawn: bool,
}

impl Supervised {
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::AskPlace(_) => {
                    assert!(!self.asked && !self.has_place, "one place: {self:?}");
                    self.asked = true;
                }
                Effect::LeavePlace => {
                    assert!(self.asked || self.has_place, "there is a place to leave: {self:?}");
                    (self.asked, self.has_place, self.connects) = (false, false, false);
                }
                Effect::LendPlace => {
                    assert!(self.has_place && self.connects, "{self:?}");
                    self.has_place = false;
                }
                Effect::Connect => {
                    assert!((self.has_place || self.connects) && !self.runs, "{self:?}");
                    self.connects = true;
                }
                Effect::Start => {
                    assert!(self.has_place && !self.runs, "its controllers run once: {self:?}");
                    (self.connects, self.runs) = (false, true);
                }
                Effect::Exchange => assert!(self.runs && !self.stops, "{self:?}"),
                Effect::Stop => {
                    assert!(self.runs && !self.stops, "{self:?}");
                    self.stops = true;
                }
                Effect::Abort | Effect::FindBlocked => {
                    assert!(self.stops, "what was not told to stop is not aborted: {self:?}")
                }
                Effect::CleanUp => {
                    assert!(!self.runs && !self.cleans_up, "nothing runs meanwhile: {self:?}");
                    (self.cleans_up, self.withdrawn) = (true, false);
                }
                Effect::WithdrawCleanUp => {
                    assert!(self.cleans_up, "{self:?}");
                    self.withdrawn = true;
                }
                Effect::Forget => {
                    assert!(!self.cleans_up, "{self:?}");
                    assert!(!self.runs && !self.asked && !self.has_place, "nothing is left: {self:?}")
                }
            }
        }
    }
}

fn random_look(random: &mut fastrand::Rng) -> Look {
    let faults = [None, Some(unreachable("reset")), Some(Fault::Forbidden("403".into()))];
    look(random.bool(), random.choice(faults).flatten())
}

/// Something happens that can happen now.
fn step(unit: &mut Unit, has: &mut Supervised, random: &mut fastrand::Rng, now: Instant) {
    let effects = match random.u8(0..14) {
        13 => unit.moved(now),
        0 => unit.announced(now),
        11 => unit.repeated(now),
        12 => unit.announced_elsewhere(now),
        1 if has.asked => {
            (has.asked, has.has_place) = (false, true);
            unit.placed(now)
        }
        2 | 3 if has.connects => {
            has.connects = false;
            let results = [Ok(()), Err(unreachable("refused")), Err(Fault::Failed("no CA".into()))];
            unit.connected(random.choice(results).unwrap(), now)
        }
        4 => unit.looked_at(random_look(random), now),
        5 if has.runs => unit.broke("ended".into(), now),
        6 if random.u8(0..8) == 0 => unit.refused("it is the hub".into(), now),
        7 if random.u8(0..4) == 0 => unit.removed(now),
        8 if has.stops => {
            (has.runs, has.stops) = (false, false);
            unit.stopped(now)
        }
        9 if std::mem::take(&mut has.cleans_up) => match has.withdrawn && random.bool() {
            true => unit.clean_up_withdrawn(now),
            false => unit.cleaned_up(now),
        },
        _ => unit.timer(now),
    };
    has.perform(effects);
}

#[tokio::test(start_paused = true)]
async fn in_any_order_of_events_it_has_one_place_runs_once_and_gets_where_it_should() {
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut time = now();
        let (mut unit, effects) = Unit::new(GRACE, time);
        let mut has = Supervised::default();
        has.perform(effects);
        for _ in 0..random.usize(0..60) {
            time += Duration::from_millis(random.u64(0..20_000));
            step(&mut unit, &mut has, &mut random, time);
        }
        if unit.has_left() {
            assert!(unit.next_timer().is_none() && !has.asked && !has.has_place && !has.runs, "seed {seed}");
            continue;
        }
        // From now on all goes well.
        has.perform(unit.announced(time));
        for _ in 0..8 {
            time = unit.next_timer().unwrap_or(time).max(time);
            if has.stops {
                (has.runs, has.stops) = (false, false);
                has.perform(unit.stopped(time));
            }
            if std::mem::take(&mut has.cleans_up) {
                has.perform(unit.cleaned_up(time));
            }
            has.perform(unit.timer(time));
            if std::mem::take(&mut has.asked) {
                has.has_place = true;
                has.perform(unit.placed(time));
            }
            if std::mem::take(&mut has.connects) {
                has.perform(unit.connected(Ok(()), time));
            }
            has.perform(unit.looked_at(look(true, None), time));
        }
        assert_eq!(unit.state().0, ClusterState::Synced, "seed {seed}: {unit:?}");
        assert!(!has.has_place, "seed {seed}");
        has.perform(unit.removed(time));
        (has.runs, has.stops) = (false, false);
        has.perform(unit.stopped(time));
        assert!(std::mem::take(&mut has.cleans_up), "seed {seed}");
        has.perform(unit.cleaned_up(time));
        assert!(unit.has_left() && unit.next_timer().is_none(), "seed {seed}");
    }
}
