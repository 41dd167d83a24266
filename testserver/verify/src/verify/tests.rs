use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use tokio::time::sleep;
use tower::ServiceExt;

use super::*;
use crate::{
    finding::Oracle,
    gate::ApiService,
    webhooks::tests::{configuration, serve},
};

const WANTED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wanted}\n";

async fn panics(_: ApiService) {
    panic!("at once");
}

#[test]
fn an_operator_that_always_panics_is_one_finding() {
    let verify = Verify::new(|_| panics).step("create", |step| step.apply(WANTED));
    let report = verify.families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(_, finding)| finding).collect();
    assert!(found.iter().filter(|finding| finding.oracle() == Oracle::Panic).count() == 1, "{found:?}");
    assert!(found.iter().any(|finding| finding.what().ends_with("at once")), "{found:?}");
}

#[test]
fn an_operator_that_ends_without_a_fault_is_found() {
    async fn ends(_: ApiService) -> Result<(), String> {
        Err("no configuration".to_owned())
    }
    let verify =
        || Verify::new(|_| ends).step("create", |step| step.apply(WANTED)).families([Family::Restart]);
    let report = verify().report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| (plan, finding.to_string())).collect();
    let expected = r#"[ended] the operator ended without a fault: Err("no configuration")"#;
    assert_eq!(found, [("no fault".to_owned(), expected.to_owned())]);
    assert!(verify().allow("the operator ended*", "it is a job").report().is_ok());
}

#[test]
fn an_operator_that_does_nothing_is_found() {
    let waits = |_: ApiService| std::future::pending::<()>();
    let verify = || Verify::new(move |_| waits).step("create", |step| step.apply(WANTED));
    let report = verify().families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(_, finding)| finding.to_string()).collect();
    assert!(found[0].starts_with("[workload] the operator does nothing in this workload"), "{found:?}");
    assert!(verify().allow("the operator does nothing*", "it only reads").report().is_ok());
}

/// Makes a ConfigMap, or finds it; of Secrets only after a failure.
async fn makes_a_map(service: ApiService) {
    loop {
        if map(&service, "GET", "wanted").await == 200 && map(&service, "POST", "made").await == 500 {
            let secrets = Request::get("/api/v1/namespaces/default/secrets").body(Full::new(Bytes::new()));
            drop(service.clone().oneshot(secrets.expect("a request")).await);
        }
        sleep(Duration::from_secs(10)).await;
    }
}

#[test]
fn what_the_account_of_the_operator_may_not_do_is_found() {
    const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: maps}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: maps}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maps}
subjects: [{kind: ServiceAccount, namespace: default, name: maps}]
";
    let verify = |roles: &'static str| {
        let verify = Verify::new(|_| makes_a_map).service_account("default", "maps").fixtures(roles);
        let verify = verify.step("create", |step| step.apply(WANTED));
        let report = verify.families([Family::Restart, Family::Refused]).report();
        report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect::<Vec<_>>()
    };
    let cannot = "User \"system:serviceaccount:default:maps\" cannot";
    let without = verify("");
    assert!(
        without[0].starts_with("no fault: [forbidden] configmaps \"wanted\" is forbidden: "),
        "{without:?}"
    );
    let (with, expected) =
        (verify(ROLE), format!("[forbidden] secrets is forbidden: {cannot} list resource"));
    assert!(with.len() == 1 && with[0].starts_with("500 for create configmaps made #1: "), "{with:?}");
    assert!(with[0].contains(&expected), "{with:?}");
}

/// Makes the map of a wanted one, once.
async fn makes_once(service: ApiService) {
    while map(&service, "GET", "wanted").await != 200 {
        sleep(Duration::from_secs(5)).await;
    }
    map(&service, "POST", "made").await;
    std::future::pending().await
}

#[test]
fn a_deleted_child_that_is_not_made_again_is_found_without_a_fault() {
    let verify = Verify::new(|_| makes_once).step("create", |step| step.apply(WANTED));
    let verify = verify.step("a user deletes the child", |step| step.delete_of("configmaps", "made"));
    let report = verify.families([Family::SlowGarbageCollection]).report();
    let found: Vec<_> = report.findings().map(|(_, finding)| finding.to_string()).collect();
    let expected = "[end state] after step 2, configmaps made, which the operator has made, is deleted and not made again: ";
    assert!(found.iter().any(|finding| finding.starts_with(expected)), "{found:?}");
}

#[test]
fn an_operator_that_only_tells_events_does_something() {
    async fn tells(service: ApiService) {
        let event = json!({"metadata": {"name": "seen"}, "involvedObject": {"namespace": "default"}});
        let request =
            Request::post("/api/v1/namespaces/default/events").body(Full::new(event.to_string().into()));
        drop(service.oneshot(request.expect("a request")).await);
        std::future::pending().await
    }
    let verify = Verify::new(|_| tells).step("create", |step| step.apply(WANTED));
    let report = verify.families([Family::Restart]).report();
    assert!(report.is_ok(), "{report}");
}

/// Makes a role with more permissions than its own.
async fn makes_a_role(service: ApiService) {
    let role = json!({"metadata": {"name": "more"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let request = Request::post(path).body(Full::new(role.to_string().into()));
    drop(service.oneshot(request.expect("a request")).await);
    std::future::pending().await
}

#[test]
fn a_role_that_the_account_may_not_grant_is_found() {
    const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: roles}
rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: roles}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: roles}
subjects: [{kind: ServiceAccount, namespace: default, name: roles}]
";
    let verify = Verify::new(|_| makes_a_role).service_account("default", "roles").fixtures(ROLES);
    let report = verify.step("create", |step| step.apply(WANTED)).families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(_, finding)| finding.to_string()).collect();
    assert!(
        found.iter().any(|finding| finding.starts_with("[forbidden] ") && finding.contains("grant")),
        "{found:?}"
    );
}

#[test]
fn a_budget_that_is_used_up_at_once_is_enough_for_a_plan() {
    let options = Options { budget: Some(Duration::from_nanos(1)), ..Options::default() };
    let verify = Verify::new(|_| panics).step("create", |step| step.apply(WANTED)).ready();
    let report = explore::explore(&verify.scenario, &Family::all(), &options);
    assert_eq!((report.tried, report.left_out > 0), (1, true));
}

#[test]
fn a_report_that_another_process_reads_is_told_by_that_one() {
    let run = |options: &Options| {
        let verify = Verify::new(|_| panics).step("create", |step| step.apply(WANTED));
        verify.families([Family::Restart]).run_with(options)
    };
    let told = run(&Options::default()).unwrap_err();
    assert!(told.contains("at once"), "{told}");
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("1.json");
    assert_eq!(run(&Options { json: Some(json.clone()), ..Options::default() }), Ok(Ran::Told));
    let left = std::fs::read_to_string(json).expect("a report");
    assert!(left.contains("at once"), "{left}");
    let reports = Some(folder.path().to_owned());
    assert_eq!(run(&Options { reports, ..Options::default() }), Ok(Ran::Told));
    let texts = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let texts = texts.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    assert_eq!(texts.count(), 1);
}

/// Reads a ConfigMap, or creates it: the code of the answer, 0 without one.
async fn map(service: &ApiService, method: &str, name: &str) -> u16 {
    let all = "/api/v1/namespaces/default/configmaps";
    let (path, body) = match method {
        "POST" => (all.to_owned(), json!({ "metadata": { "name": name } }).to_string()),
        _ => (format!("{all}/{name}"), String::new()),
    };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body))).expect("invariant: the request is valid");
    service.clone().oneshot(request).await.map_or(0, |answer| answer.status().as_u16())
}

/// Two maps, if users want them. BUG: what a crash has left out is written once, whether or not that succeeds.
async fn repairs_once(service: ApiService) {
    loop {
        sleep(Duration::from_secs(5)).await;
        if map(&service, "GET", "wanted").await != 200 {
            continue;
        }
        match map(&service, "GET", "one").await {
            404 if !matches!(map(&service, "POST", "one").await, 201 | 409) => continue,
            404 => {
                while !matches!(map(&service, "POST", "two").await, 201 | 409) {
                    sleep(Duration::from_secs(1)).await;
                }
            }
            200 => {
                if map(&service, "GET", "two").await == 404 {
                    map(&service, "POST", "two").await;
                }
            }
            _ => continue,
        }
        return std::future::pending().await;
    }
}

#[test]
fn a_second_fault_finds_what_one_does_not() {
    let tried = |is_deep| {
        let verify = Verify::new(|_| repairs_once).step("create", |step| step.apply(WANTED)).ready();
        let families = [Family::CrashAfter, Family::Refused].into();
        explore::explore(&verify.scenario, &families, &Options { is_deep, ..Options::default() })
    };
    let (single, both) = (tried(false), tried(true));
    assert!(single.is_ok() && single.tried() == 4, "{single}");
    let plan = "crash after create configmaps one #1, then 500 for create configmaps two #1";
    let found: Vec<_> = both.findings().map(|(plan, _)| plan).collect();
    assert!(both.tried() > 4 && found.contains(&plan.to_owned()), "{both}");
    assert!(found.iter().all(|found| found == plan), "{both}");
}

const UPGRADE: &str = "upgrade after step 1";

#[test]
fn a_plan_with_an_upgrade_needs_an_old_version() {
    let verify = || Verify::new(|_| repairs_once).step("create", |step| step.apply(WANTED));
    let expected = format!("{UPGRADE}: expected an old version of the operator, from `Verify::upgrade_from`");
    let options = Options { plan: UPGRADE.parse().ok(), ..Options::default() };
    assert_eq!(verify().run_with(&options), Err(expected.clone()));
    assert_eq!(panic_of(|| verify().replay(UPGRADE)), expected);
    verify().upgrade_from(|_| repairs_once).replay(UPGRADE);
}

#[test]
fn an_old_version_that_cannot_go_on_is_told() {
    let new = || {
        Verify::new(|world| {
            let webhooks = world.webhooks();
            move |service: ApiService| {
                serve(&webhooks, Duration::ZERO);
                repairs_once(service)
            }
        })
    };
    let verify = || {
        let verify =
            new().fixtures(configuration()).upgrade_from(|_| repairs_once).families([Family::Upgrade]);
        verify.step("create", |step| step.apply(WANTED)).step("nothing", |step| step)
    };
    let failed = "step 1, create: PATCH /api/v1/namespaces/default/configmaps/wanted got 500: ";
    let report = verify().report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect();
    let begin = format!("no fault: [workload] the old version cannot go on: {failed}");
    assert!(matches!(&found[..], [one] if one.starts_with(&begin)), "{found:?}");
    assert!(found[0].ends_with("; no upgrade after it is tried"), "{found:?}");
    assert!(report.tried() == 1 && report.reached_all(), "{report}");
    let replayed = panic_of(|| verify().replay("upgrade after step 2"));
    assert!(replayed.contains(&format!("[workload] {failed}")), "{replayed}");
}

#[test]
fn a_webhook_without_a_configuration_is_told() {
    let verify = Verify::new(|world| {
        let webhooks = world.webhooks();
        move |service: ApiService| {
            serve(&webhooks, Duration::ZERO);
            repairs_once(service)
        }
    });
    let report = verify.step("create", |step| step.apply(WANTED)).families([Family::Restart]).report();
    let told = "not covered: no webhook at the service shop/hooks:443 is ever called\n";
    assert!(report.is_ok() && report.to_string().contains(told), "{report}");
}

#[test]
fn a_call_of_the_test_meets_no_fault() {
    let verify = Verify::new(|world| {
        let webhooks = world.webhooks();
        move |service: ApiService| {
            serve(&webhooks, Duration::ZERO);
            repairs_once(service)
        }
    });
    let create = |name: &'static str| {
        move |server: kube_testserver::ApiServer| async move {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            let path = "/api/v1/namespaces/default/configmaps";
            let (code, answer) =
                crate::gate::call(&server, "POST", path, "application/json", Some(&map)).await;
            assert_eq!(code, 201, "{answer}");
        }
    };
    // It waits for what the operator makes.
    let waits = async |server: kube_testserver::ApiServer| {
        while !server
            .objects("", "configmaps")
            .is_some_and(|maps| maps.iter().any(|map| map["metadata"]["name"] == "two"))
        {
            sleep(Duration::from_secs(5)).await;
        }
    };
    let report = verify
        .fixtures(configuration())
        .step("create", |step| step.call(create("wanted")).call(waits))
        .step("more", |step| step.call(create("more")))
        .families([Family::Down, Family::CrashDown, Family::Webhook, Family::Restart])
        .report();
    assert!(report.is_ok() && report.tried() > 6, "{report}");
}

#[test]
fn a_call_of_the_test_that_never_ends_is_a_finding() {
    let verify = Verify::new(|_| reads).step("create", |step| step.apply(WANTED));
    let verify = verify.step("wait", |step| step.call(async |_| std::future::pending().await));
    let report = verify.families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect();
    let expected = "no fault: [workload] step 2, wait: its call has not ended in 24 simulated hours";
    assert!(found.contains(&expected.to_owned()), "{found:?}");
}

#[test]
fn a_webhook_that_nobody_calls_was_not_away() {
    let plan = "webhook away after step 1";
    let verify =
        || Verify::new(|_| repairs_once).step("create", |step| step.apply(WANTED)).step("later", |step| step);
    assert!(panic_of(|| verify().replay(plan)).contains(DID_NOT_COME));
    let with_webhook = |then: &'static str| {
        let verify = Verify::new(|world| {
            let webhooks = world.webhooks();
            move |service: ApiService| {
                serve(&webhooks, Duration::ZERO);
                repairs_once(service)
            }
        });
        let verify = verify.fixtures(configuration()).step("create", |step| step.apply(WANTED));
        verify.step("later", move |step| if then.is_empty() { step } else { step.apply(then) })
    };
    assert!(panic_of(|| with_webhook("").replay(plan)).contains(DID_NOT_COME));
    let report = with_webhook("").families([Family::Webhook, Family::Restart]).report();
    assert!(!report.to_string().contains("is ever called"), "{report}");
    assert!(panic_of(|| with_webhook("").replay("webhook away after step 2")).contains(DID_NOT_COME));
    with_webhook("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n").replay(plan);
}

/// The old version of an operator: it makes a map, and deletes it, every 250 s.
async fn beats(service: ApiService) {
    loop {
        for method in ["POST", "DELETE"] {
            map(&service, method, "beat").await;
            sleep(Duration::from_secs(250)).await;
        }
    }
}

/// A new version: it deletes what the old one has left.
async fn deletes_beats(service: ApiService) {
    map(&service, "DELETE", "beat").await;
    std::future::pending().await
}

#[test]
fn an_upgrade_in_the_still_time_at_the_end_is_judged_from_then_on() {
    let verify = |new: Verify| {
        let verify = new.upgrade_from(|_| beats).families([Family::Upgrade]);
        let verify = verify.allow("the operator does nothing*", "it only removes what the old version left");
        verify.step("create", |step| step.apply(WANTED))
    };
    let right = verify(Verify::new(|_| deletes_beats)).report();
    assert!(right.is_ok() && right.reached_all() && right.tried() > 3, "{right}");
    verify(Verify::new(|_| deletes_beats)).replay("upgrade right after delete configmaps beat #1");
    let plan = "upgrade right after create configmaps beat #2";
    verify(Verify::new(|_| deletes_beats))
        .step("later", |step| step.advance(Duration::from_secs(180)))
        .replay(plan);
    let wrong = verify(Verify::new(|_| reads)).step("later", |step| step.advance(Duration::from_secs(180)));
    let found = panic_of(|| wrong.replay(plan));
    assert!(found.contains("[left over] after step 2, configmaps beat is left over"), "{found}");
}

/// The text of a panic.
fn panic_of<T>(call: impl FnOnce() -> T) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).err().expect("a panic");
    *panic.downcast::<String>().expect("a text")
}

#[test]
fn a_panic_of_the_test_is_an_error_that_names_the_closure() {
    let verify = || Verify::new(|_| repairs_once).step("create", |step| step.apply(WANTED));
    let with_operator = |make: fn(&World)| {
        Verify::new(move |world| {
            make(world);
            repairs_once
        })
    };
    let cases = [
        ("the invariant \"two\"", verify().invariant("two", |_| panic!("of the test"))),
        ("the step \"look\"", verify().step("look", |step| step.call(async |_| panic!("of the test")))),
        ("`cluster`", verify().cluster(|_| panic!("of the test"))),
        ("the function that makes the operator", with_operator(|_| panic!("of the test"))),
        (
            "the function that makes the operator",
            verify().upgrade_from(|world| {
                assert!(format!("{world:?}").is_empty(), "of the test");
                repairs_once
            }),
        ),
        (
            "the fake \"bucket\"",
            with_operator(|world| drop(world.fake("bucket", || -> u8 { panic!("of the test") }))),
        ),
        (
            "the state of the external system \"bucket\"",
            with_operator(|world| world.external("bucket", || panic!("of the test"))),
        ),
    ];
    for (closure, verify) in cases {
        let text = panic_of(|| verify.report());
        let begin = format!("{closure} of the test panicked at ");
        let is_error = text.starts_with("\nFAILED in the run with the plan `");
        assert!(is_error && text.contains(&begin), "{closure}: {text}");
        assert!(text.contains("tests.rs:") && text.contains(" of the test\n"), "{closure}: {text}");
    }
}

/// What a fake has spawned for a process panics when that ends.
#[test]
fn a_panic_of_what_a_dead_process_has_left_is_told_as_such() {
    let verify = Verify::new(|_| {
        |service: ApiService| {
            let (lives, ended) = tokio::sync::oneshot::channel::<()>();
            tokio::spawn(async { ended.await.expect("the fake is used") });
            async move {
                map(&service, "POST", "made").await;
                std::future::pending::<()>().await;
                drop(lives);
            }
        }
    });
    let report = verify.step("create", |step| step.apply(WANTED)).families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(_, finding)| finding.to_string()).collect();
    let end = "the fake is used: RecvError(()) (perhaps of a process that had ended)";
    assert!(found.iter().any(|found| found.starts_with("[panic] ") && found.ends_with(end)), "{found:?}");
}

/// A task that each process leaves behind wants answers.
async fn leaves_a_task_behind(service: ApiService) {
    tokio::spawn(async move {
        loop {
            let answer = tokio::time::timeout(Duration::from_secs(30), map(&service, "GET", "wanted"));
            answer.await.expect("an answer within 30 s");
            sleep(Duration::from_secs(10)).await;
        }
    });
    std::future::pending().await
}

#[test]
fn a_panic_for_want_of_an_answer_is_in_the_timeline() {
    let verify = Verify::new(|_| leaves_a_task_behind).step("create", |step| step.apply(WANTED)).ready();
    let learned = crate::learn::learn(&verify.scenario, false).expect("no panic of the test");
    let plan = "restart after step 1".parse().expect("a plan");
    let run = crate::run::run(&verify.scenario, &plan, 1, &learned.known, Some(&learned.reference));
    let outcome = run.expect("no panic of the test");
    assert_eq!(outcome.findings, []);
    let lines = outcome.trace.lines;
    let told = "a task of a dead process panicked for want of an answer: ";
    let at = lines.iter().position(|line| line.text.starts_with(told)).expect("a line");
    assert!(lines[at].text.ends_with("an answer within 30 s: Elapsed(())"), "{}", lines[at].text);
    let restarted = lines.iter().find(|line| line.text.starts_with("FAULT")).expect("a restart").at;
    let later = lines[at].at - restarted;
    assert!((20..=40).contains(&later.as_secs()) && lines.is_sorted_by_key(|line| line.at), "{later:?}");
}

#[test]
fn what_the_operator_breaks_with_its_panic_is_no_error_of_the_test() {
    type Bucket = std::sync::Mutex<Vec<u8>>;
    async fn looks_into(bucket: Arc<Bucket>, service: ApiService) {
        while map(&service, "GET", "wanted").await != 200 {
            sleep(Duration::from_secs(5)).await;
        }
        bucket.lock().unwrap().first().expect("a byte");
    }
    let verify = Verify::new(|world| {
        let bucket = world.fake("bucket", Bucket::default);
        let state = bucket.clone();
        world.external("bucket", move || json!(*state.lock().unwrap()));
        move |service: ApiService| looks_into(bucket.clone(), service)
    });
    let report = verify.step("create", |step| step.apply(WANTED)).families([Family::Restart]).report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect();
    let then = "; then the state of the external system \"bucket\" of the test panicked at ";
    let is_told =
        |one: &String| one.starts_with("no fault: [panic] ") && one.contains(&format!(": a byte{then}"));
    assert!(found.iter().any(is_told), "{found:?}");
    assert!(report.to_string().contains("PoisonError"), "{report}");
}

#[test]
fn a_panic_of_the_test_hides_values_of_secrets_that_nobody_has_used() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"password": "never-told"}});
    let verify = Verify::new(|_| reads).fixtures(secret).invariant("no secret", |state| {
        let data: Vec<_> = state.objects_of("secrets").map(|secret| secret["data"].to_string()).collect();
        panic!("{data:?}, once never-told")
    });
    let text = panic_of(|| verify.step("create", |step| step.apply(WANTED)).report());
    assert!(text.contains("<hidden>") && text.contains("once <hidden>"), "{text}");
    assert!(!text.contains("bmV2ZXItdG9sZA"), "{text}");
}

/// Two maps, if users want them. BUG: the first is written once, whether or not that succeeds.
async fn is_careless(service: ApiService) {
    while map(&service, "GET", "wanted").await != 200 {
        sleep(Duration::from_secs(5)).await;
    }
    map(&service, "POST", "one").await;
    while !matches!(map(&service, "POST", "two").await, 201 | 409) {
        sleep(Duration::from_secs(1)).await;
    }
    std::future::pending().await
}

#[test]
fn what_was_found_before_a_panic_of_the_test_is_told_with_it() {
    // Three runs without faults; the first plan ends before this step, and the second breaks the test.
    let calls = AtomicUsize::new(0);
    let look = move |_| {
        let is_fourth = calls.fetch_add(1, Ordering::Relaxed) == 3;
        async move { assert!(!is_fourth, "of the test") }
    };
    let verify = Verify::new(|_| is_careless).step("create", |step| step.apply(WANTED));
    let verify = verify.step("look", |step| step.call(look)).families([Family::Refused]);
    let text = panic_of(|| verify.report());
    let begin = "\nFAILED in the run with the plan `500 for create configmaps two #1`, the step \"look\" of the test panicked at ";
    assert!(text.starts_with(begin) && text.contains("of the test\nnot tried after it: 0 plans\n"), "{text}");
    assert!(
        text.contains("FOUND [end state] ") && text.contains("  plan:   500 for create configmaps one #1\n"),
        "{text}"
    );
    assert!(text.ends_with("1 cause found, and 1 part of the verification failed\n"), "{text}");
}

#[test]
fn a_fake_that_could_not_be_made_is_made_the_next_time() {
    let world = World::default();
    let fails = || world.fake("one", || -> u8 { panic!("not yet") });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails)).is_err());
    // It may ask for others.
    let both = world.fake("one", || *world.fake("two", || 2) + 1);
    assert_eq!((*both, *world.fake("two", || 7)), (3, 2));
}

/// Does nothing but look. The controllers of the server work when somebody asks.
async fn reads(service: ApiService) {
    loop {
        sleep(Duration::from_secs(60)).await;
        map(&service, "GET", "wanted").await;
    }
}

#[test]
fn invariants_judge_what_the_cluster_does_while_nothing_else_happens() {
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}});
    let cron_job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"schedule": "30 * * * *", "jobTemplate": template}});
    let report = Verify::new(|_| reads)
        .fixtures(cron_job)
        .cluster(|cluster| cluster.with(kube_testserver::BuiltInController::Workloads))
        .step("create", |step| step.apply(WANTED))
        .invariant("no job", |state| state.count_of("jobs.batch") == 0)
        .report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect();
    assert!(found.contains(&"no fault: [invariant] no job does not hold".to_owned()), "{found:?}");
}

#[test]
fn invariants_judge_what_comes_and_goes_while_a_step_lets_time_pass() {
    let comes_and_goes = async |server: kube_testserver::ApiServer| {
        drop(tokio::spawn(async move {
            sleep(Duration::from_secs(10)).await;
            server.load(WANTED).expect("a map");
            sleep(Duration::from_secs(12)).await;
            let path = "/api/v1/namespaces/default/configmaps/wanted";
            crate::gate::call(&server, "DELETE", path, "application/json", None).await;
        }));
    };
    let verify = Verify::new(|_| reads).families([Family::Restart]);
    let verify = verify.step("wait", |step| step.call(comes_and_goes).advance(Duration::from_secs(60)));
    let report = verify.invariant("no map", |state| state.count_of("configmaps") == 0).report();
    let found: Vec<_> = report.findings().map(|(plan, finding)| format!("{plan}: {finding}")).collect();
    assert!(found.contains(&"no fault: [invariant] no map does not hold".to_owned()), "{found:?}");
}
