//! Chapters "Watcher" and "Reflector and Store".

use super::prelude::*;

fn watcher_with_backoff(api: Api<MyResource>) -> impl Stream {
    use kube::runtime::{watcher, WatchStreamExt};

    let wc = watcher::Config::default();
    let stream = watcher(api, wc)
        .default_backoff()    // Exponential backoff retry on errors
        .applied_objects();   // Convert Event<K> to K stream
    stream
}

fn list_watch() -> watcher::Config {
    // Default -- uses ListWatch strategy
    let wc = watcher::Config::default();
    wc
}

fn streaming_list() -> watcher::Config {
    // Use StreamingList strategy
    let wc = watcher::Config::default().streaming_lists();
    wc
}

fn default_backoff(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    let stream = watcher(api, wc)
        .default_backoff();  // Exponential backoff: 1s -> 2s -> 4s -> ... -> 60s (max)
    stream
}

fn config() -> watcher::Config {
    let wc = watcher::Config::default()
        .labels("app=myapp")              // label selector
        .fields("status.phase=Running")   // field selector
        .timeout(300)                     // watch timeout (server-side)
        .page_size(100)                   // ListWatch page size
        .streaming_lists()                // StreamingList strategy
        .any_semantic()                   // ListSemantic::Any
        .disable_bookmarks();             // Disable bookmarks (on by default)
    wc
}

fn reflect(api: Api<MyResource>) -> (Store<MyResource>, impl Stream) {
    use kube::runtime::{reflector, watcher, WatchStreamExt};

    let (reader, writer) = reflector::store();
    let stream = reflector(writer, watcher(api, watcher::Config::default()))
        .default_backoff()
        .applied_objects();

    // Query cache via reader
    // Process events via stream
    (reader, stream)
}

fn store_before_ready() -> Vec<Arc<MyResource>> {
    let (reader, writer) = reflector::store::<MyResource>();
    // ... reflector setup ...
    let items = reader.state(); // <- Returns empty Vec!
    drop(writer);
    items
}

async fn store_after_ready(reader: Store<MyResource>) {
    // Wait until first InitDone before querying
    reader.wait_until_ready().await;
    let items = reader.state(); // Now data is available
    drop(items);
}

async fn store_methods<K: kube::Resource<DynamicType = ()> + Clone + 'static>(reader: Store<K>, obj_ref: ObjectRef<K>) -> anyhow::Result<()> {
    // Full list of cached objects
    let all: Vec<Arc<K>> = reader.state();

    // Look up by specific ObjectRef
    let obj: Option<Arc<K>> = reader.get(&obj_ref);

    // Check readiness
    let ready: bool = reader.is_ready();

    // Wait until first InitDone
    reader.wait_until_ready().await;
    drop((all, obj, ready));
    Ok(())
}

fn shared(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    use kube::runtime::{reflector, watcher, WatchStreamExt};

    // Create shared store (specify buffer size)
    let (reader, writer) = reflector::store_shared(1024);

    // Apply shared reflector to stream
    let stream = watcher(api, wc)
        .default_backoff()
        .reflect_shared(writer)
        .applied_objects();

    // Multiple subscribers can receive events
    let subscriber1 = reader.subscribe().unwrap();
    let subscriber2 = reader.subscribe().unwrap();
    drop((subscriber1, subscriber2));
    stream
}
