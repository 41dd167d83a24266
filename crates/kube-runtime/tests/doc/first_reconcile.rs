// Included by the examples of `Controller`, so all paths are absolute.

/// Runs the controller of `make` against a server with one ConfigMap until its first reconcile has succeeded.
#[allow(dead_code, clippy::unwrap_used)]
fn first_reconcile<K>(make: impl FnOnce(::kube_client::Client) -> ::kube_runtime::Controller<K>)
where
    K: ::kube_core::Resource<
            DynamicType: Eq + ::std::hash::Hash + Clone + ::std::fmt::Debug + ::std::marker::Unpin,
        > + Clone
        + ::serde::de::DeserializeOwned
        + ::std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    use ::kube_runtime::controller::Action;
    let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = ::kube_client::Client::new(::kube_testserver::ApiServer::new(), "default");
        let mut map = ::k8s_openapi::api::core::v1::ConfigMap::default();
        map.metadata.name = Some("a".to_owned());
        let maps = ::kube_client::Api::default_namespaced(client.clone());
        maps.create(&::std::default::Default::default(), &map).await.unwrap();
        let output = make(client).run(
            async |_, _| Ok::<_, ::std::convert::Infallible>(Action::await_change()),
            |_, _, _| Action::await_change(),
            ::std::sync::Arc::new(()),
        );
        let first = ::futures::StreamExt::next(&mut ::std::boxed::Box::pin(output)).await;
        assert!(first.is_some_and(|item| item.is_ok()));
    });
}

/// Polls the watch of a shared store in a task and returns the controller.
#[allow(dead_code, clippy::unwrap_used)]
fn poll_in_task<K, W>(pair: Option<(::kube_runtime::Controller<K>, W)>) -> ::kube_runtime::Controller<K>
where
    K: ::kube_core::Resource<DynamicType: Eq + ::std::hash::Hash> + Clone + ::std::fmt::Debug + 'static,
    W: ::futures::Stream + Send + 'static,
{
    let (controller, watch) = pair.unwrap();
    ::tokio::spawn(::futures::StreamExt::for_each(watch, |_| async {}));
    controller
}
