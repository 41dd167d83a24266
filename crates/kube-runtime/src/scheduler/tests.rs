use super::*;
use futures::{FutureExt, SinkExt, StreamExt, channel::mpsc, stream};
use std::{pin::pin, time::Duration};
use tokio::time::{Instant, advance};

fn request(message: &'static str, delay_ms: u64) -> ScheduleRequest<&'static str> {
    ScheduleRequest { message, run_at: Instant::now() + Duration::from_millis(delay_ms) }
}

#[tokio::test(start_paused = true)]
async fn gives_each_message_back_at_its_time() {
    let start = Instant::now();
    let requests =
        stream::iter([request("late", 200), request("soon", 100), request("late", 300), request("now", 0)]);
    let timeline: Vec<_> =
        scheduler(requests).map(|message| (start.elapsed().as_millis(), message)).collect().await;
    assert_eq!(timeline, [(0, "now"), (100, "soon"), (200, "late")]);
}

/// The example of the guide: debounce of one second, triggers at 0.0, 0.3 and 1.2 s.
#[tokio::test(start_paused = true)]
async fn debounce_follows_the_timeline_of_the_guide() {
    let start = Instant::now();
    let (mut ask, asked) = mpsc::unbounded();
    let mut messages = debounced_scheduler(asked, Duration::from_secs(1));
    ask.send(request("A", 0)).await.unwrap();
    assert_eq!(messages.next().now_or_never(), None, "not before a second has passed");
    advance(Duration::from_millis(300)).await;
    ask.send(request("A", 0)).await.unwrap();
    assert_eq!(messages.next().await, Some("A"));
    assert_eq!(start.elapsed().as_millis(), 1000, "the second trigger is ignored");
    advance(Duration::from_millis(200)).await;
    ask.send(request("A", 0)).await.unwrap();
    assert_eq!(messages.next().await, Some("A"));
    assert_eq!(start.elapsed().as_millis(), 2200, "a trigger after the run counts again");
    drop(ask);
    assert_eq!(messages.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn debounce_does_not_lengthen_longer_delays() {
    let start = Instant::now();
    let requests = stream::iter([request("A", 5000)]);
    debounced_scheduler(requests, Duration::from_secs(1)).next().await;
    assert_eq!(start.elapsed().as_millis(), 5000);
}

#[tokio::test(start_paused = true)]
async fn held_messages_are_kept_and_merged() {
    let (mut ask, asked) = mpsc::unbounded();
    let mut scheduler = pin!(scheduler(asked));
    for message in ["a", "b", "a"] {
        ask.send(request(message, 0)).await.unwrap();
    }
    assert_eq!(scheduler.as_mut().hold().next().now_or_never(), None);
    assert_eq!(
        scheduler.as_mut().hold_unless(|message| *message != "a").next().now_or_never(),
        Some(Some("b"))
    );
    assert_eq!(scheduler.as_mut().hold_unless(|message| *message != "a").next().now_or_never(), None);
    assert_eq!(scheduler.next().now_or_never(), Some(Some("a")));
    assert_eq!(scheduler.next().now_or_never(), None, "a was asked for twice, and is one message");
    drop(ask);
    assert_eq!(scheduler.as_mut().hold().next().now_or_never(), Some(None));
}

#[tokio::test(start_paused = true)]
async fn an_endless_burst_of_requests_does_not_keep_messages_back() {
    let endless = stream::repeat_with(|| request("a", 0));
    assert_eq!(scheduler(endless).next().now_or_never(), Some(Some("a")));
}
