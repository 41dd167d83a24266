//! How values are evaluated: once, in order, where they are.

use std::{
    cell::RefCell,
    num::ParseIntError,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube_core::Sparse;
use serde_json::json;

use super::json;

#[test]
fn every_value_is_evaluated_once_and_in_order() {
    let seen = RefCell::new(Vec::new());
    let see = |text: &'static str| {
        seen.borrow_mut().push(text);
        text
    };
    let base = || {
        see("base");
        apply!(PodSpec { host_pid: true })
    };
    let _pod = apply!(Pod {
        spec: {
            hostname: see("1"),
            containers: [{ name: see("2"), image: see("3") }, ..[apply!(Container { name: see("4") })]],
            node_selector: { (see("5")): see("6") },
            ..base(),
            node_name: Some(see("7")),
        },
        metadata: { name: see("8") },
    });
    assert_eq!(*seen.borrow(), ["1", "2", "3", "4", "5", "6", "base", "7", "8"]);
}

fn parsed(number: &str) -> Result<Sparse<PodSpec>, ParseIntError> {
    Ok(apply!(PodSpec { containers: [{ name: "x", ports: [{ container_port: number.parse::<i32>()? }] }] }))
}

#[test]
fn a_question_mark_returns_from_the_function_around() {
    assert_eq!(json(&parsed("80").unwrap())["containers"][0]["ports"], json!([{ "containerPort": 80 }]));
    parsed("x").unwrap_err();
}

/// Is pending once.
struct Later(bool);

impl Future for Later {
    type Output = &'static str;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<&'static str> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready("later");
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn values_are_awaited_in_a_future_that_can_be_sent() {
    fn sent<F: Future + Send>(future: F) -> F {
        future
    }
    let future = sent(async {
        apply!(Pod { metadata: { name: Later(false).await }, spec: { containers: [{ name: Later(false).await }] } })
    });
    assert!(size_of_val(&future) < 500, "{} bytes", size_of_val(&future));
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    let Poll::Ready(pod) = future.as_mut().poll(&mut context) else { panic!("it awaits two values") };
    assert_eq!(json(&pod)["metadata"], json!({ "name": "later" }));
    assert_eq!(json(&pod)["spec"]["containers"], json!([{ "name": "later" }]));
}

#[test]
fn names_in_the_expansion_do_not_meet_those_of_the_program() {
    #![allow(non_upper_case_globals)]
    let (__it, __writer, __root, it, kind) = ("1", "2", "3", "4", "5");
    let container = apply!(Container { args: [__it, __writer, __root, it], name: kind });
    assert_eq!(json(&container), json!({ "args": ["1", "2", "3", "4"], "name": "5" }));

    // Traits and functions of the same names, and types that shadow those of the standard library.
    trait Plain {
        fn put(&self) {}
    }
    impl<T> Plain for T {}
    #[allow(dead_code)]
    struct Option;
    #[allow(dead_code)]
    struct Slot;
    0.put();
    assert_eq!(json(&apply!(Container { tty: true })), json!({ "tty": true }));
}

#[test]
fn a_macro_by_example_can_write_fields() {
    macro_rules! container {
        ($name:expr, $field:ident) => {
            apply!(Container { name: $name, $field: true })
        };
    }
    assert_eq!(json(&container!("a", stdin)), json!({ "name": "a", "stdin": true }));
}

#[test]
fn a_generic_type_can_be_written() {
    #[derive(Default, serde::Serialize)]
    struct Page<T> {
        items: Vec<T>,
        next: Option<T>,
    }
    let page = apply!(Page<Container> { items: [{ name: "a" }], next: { name: "b" } });
    assert_eq!(json(&page), json!({ "items": [{ "name": "a" }], "next": { "name": "b" } }));

    fn generic<T: Default + serde::Serialize + Clone>(next: &T) -> Sparse<Page<T>> {
        apply!(Page<T> { next, items: [next, next] })
    }
    assert_eq!(json(&generic(&1)), json!({ "next": 1, "items": [1, 1] }));
}

mod strict {
    #![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery)]
    //! A program with every lint.

    use k8s_openapi::api::core::v1::PodSpec;

    #[test]
    fn an_expansion_has_no_warning() {
        let _ = apply!(PodSpec {});
        let name = String::from("a");
        let spec = apply!(PodSpec {
            hostname: &name,
            if name.is_empty() { subdomain: &name } else { node_name: None },
            containers: [{ name: &name, args: [], env: [for _ in 0..1 { name: "X" }] }],
            node_selector: {},
        });
        drop(spec);
    }
}
