//! [`Manifests`]: what is to be deployed.

use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::{
    api::core::v1::ResourceRequirements,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::api::resource::Quantity,
};
use kube_core::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    manager::{Facts, Manager},
    rbac::Permissions,
};

/// Of the Service `kubernetes`, and behind it in common clusters.
const API_SERVER_PORTS: [u16; 4] = [443, 6443, 8443, 16443];

/// The manifests of an operator. See the [module](super).
#[derive(Clone)]
#[must_use = "manifests are nothing until they are written"]
pub struct Manifests {
    pub(super) name: String,
    pub(super) facts: Facts,
    pub(super) version: String,
    pub(super) image: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) empty_dirs: Vec<String>,
    pub(super) replicas: Option<i32>,
    pub(super) resources: ResourceRequirements,
    pub(super) crds: Vec<CustomResourceDefinition>,
    pub(super) further: Permissions,
    /// The default namespace of the kubeconfigs of members, if they get manifests.
    pub(super) members: Option<String>,
    pub(super) further_on_members: Permissions,
    pub(super) issuer: Option<(String, String)>,
    pub(super) metrics_readers: Option<Vec<String>>,
    pub(super) api_server_ports: Vec<u16>,
    pub(super) service_monitor: bool,
    pub(super) dashboard: bool,
    pub(super) samples: Vec<Result<Value, String>>,
    pub(super) edits: Vec<Edit>,
}

/// What a part of a program needs. Of [`Manifests::needs`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// Which part, such as `the controller pages` or `leader election`.
    pub part: String,
    /// Its permissions.
    pub permissions: Permissions,
}

/// A change of the objects of one kind.
#[derive(Clone)]
pub(super) struct Edit {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) apply: Arc<dyn Fn(Value) -> Result<Value, serde_json::Error> + Send + Sync>,
}

impl Manifests {
    /// Of this manager, which need not run: a client of [`offline_client`](super::offline_client) is enough. `name` is that of all objects:
    /// of the ServiceAccount, the Deployment, the Service, the webhook configurations. The namespace is that of the manager's client.
    ///
    /// The image is `NAME:VERSION` until it is set. There are two replicas if the manager has leader election or sharding, otherwise one.
    pub fn new(name: impl Into<String>, manager: &Manager) -> Self {
        let (name, facts) = (name.into(), manager.facts());
        let version = facts.version.clone().unwrap_or_else(|| "0.0.0".into());
        let quantities = |all: &[(&str, &str)]| {
            all.iter().map(|(name, value)| ((*name).to_owned(), Quantity((*value).to_owned()))).collect()
        };
        Self {
            image: format!("{name}:{version}"),
            name,
            facts,
            version,
            args: Vec::new(),
            env: BTreeMap::new(),
            empty_dirs: Vec::new(),
            replicas: None,
            resources: ResourceRequirements {
                requests: Some(quantities(&[("cpu", "50m"), ("memory", "64Mi")])),
                limits: Some(quantities(&[("memory", "256Mi")])),
                ..ResourceRequirements::default()
            },
            crds: Vec::new(),
            further: Permissions::default(),
            members: None,
            further_on_members: Permissions::default(),
            issuer: None,
            metrics_readers: None,
            api_server_ports: API_SERVER_PORTS.to_vec(),
            service_monitor: false,
            dashboard: false,
            samples: Vec::new(),
            edits: Vec::new(),
        }
    }

    /// The image of the container, such as `registry.example.com/team/operator:1.2.0`, or with a digest.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = image.into();
        self
    }

    /// The version of the program, for the Helm chart: semantic, such as `1.2.0`. By default that of the manager
    /// ([`Manager::version`]), or else `0.0.0`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Arguments of the program.
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// An environment variable of the program. `POD_NAME` is there, and `WATCH_NAMESPACES`, separated by commas, if the manager watches
    /// some namespaces only.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Adds a folder that the program may write to, such as `/tmp`: a volume `emptyDir`, which begins empty and is lost with the pod. All
    /// other folders are read-only (`readOnlyRootFilesystem`, as the restricted Pod Security Standard wants it).
    ///
    /// A path that is not absolute, that is added twice or that lies in the folder of the webhooks' certificate is an error of
    /// [`objects`](Self::objects) and all that is made of them.
    pub fn empty_dir(mut self, path: impl Into<String>) -> Self {
        self.empty_dirs.push(path.into());
        self
    }

    /// How many replicas there are. More than one need leader election or sharding.
    pub fn replicas(mut self, replicas: i32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// The resources of the container. By default it requests 50 m of a CPU and 64 MiB, and is limited to 256 MiB.
    pub fn resources(mut self, resources: ResourceRequirements) -> Self {
        self.resources = resources;
        self
    }

    /// A CRD, with all its versions: [`merge_crds`](kube_core::crd::merge_crds) makes one of them. If the manager has a conversion of its
    /// kind, `spec.conversion` becomes the webhook.
    pub fn crd(mut self, crd: CustomResourceDefinition) -> Self {
        self.crds.push(crd);
        self
    }

    /// What the program requests beyond what the manager knows: what it watches, its Leases and certificates, and
    /// [what it writes](Manager::writes). For instance what an [`RbacRecorder`](crate::rbac::RbacRecorder) recorded.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.further = self.further.union(permissions);
        self
    }

    /// Also what the members need, the clusters of [`Manager::controller_on_each`], in files of their own: `members/install.yaml` has a
    /// ServiceAccount for their kubeconfigs, in `namespace`, and its roles. They permit what the controllers of members watch, what they
    /// [write](Manager::writes_on_each), and to `get` the namespace `kube-system`, by which clusters are told apart. The roles of the hub
    /// have nothing of it.
    ///
    /// `namespace` is the default namespace of these kubeconfigs. The roles are called `NAMESPACE:NAME`, so that those of operators of one
    /// name do not replace each other on a cluster where each has a namespace of its own. The functions that make the controllers are
    /// called for each [`files`](Self::files), for a cluster `member` without labels, whose client reaches nothing.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_operator::{
    ///     clusters::{OnCluster, SecretClusters},
    ///     manager::{Manager, Writes},
    ///     manifests::{Form, Manifests, offline_client},
    /// };
    /// use kube_runtime::{Controller, controller::Action, watcher::Config};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn reconcile(_: Arc<ConfigMap>, _: Arc<OnCluster<()>>) -> Result<Action, Infallible> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// fn manager(hub: Client) -> Manager {
    ///     Manager::new(hub.clone())
    ///         .clusters(SecretClusters::new(hub).namespace("fleet"))
    ///         .controller_on_each("maps", |it| Controller::new(Api::all(it.client()), Config::default()), reconcile, Arc::new(()))
    ///         .writes_on_each(|it| Api::<ConfigMap>::all(it.client()), Writes::Objects)
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let manifests = Manifests::new("copier", &manager(offline_client("tools"))).for_members("copier");
    /// let files = manifests.files([Form::Yaml])?;
    /// let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    /// assert_eq!(paths, ["install.yaml", "members/install.yaml"]);
    /// # Ok::<_, kube_operator::manifests::ManifestsError>(()) })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_members(mut self, namespace: impl Into<String>) -> Self {
        self.members = Some(namespace.into());
        self
    }

    /// What the program requests on members beyond what the manager knows, as [`permissions`](Self::permissions) says of the hub. An error
    /// of [`files`](Self::files) without [`for_members`](Self::for_members).
    pub fn permissions_on_members(mut self, permissions: Permissions) -> Self {
        self.further_on_members = self.further_on_members.union(permissions);
        self
    }

    /// The issuer of cert-manager for [`CertificateFiles`](crate::webhook::certificates::CertificateFiles): its kind (`Issuer` or
    /// `ClusterIssuer`) and its name. By default a self-signed one of its own.
    pub fn issuer(mut self, kind: impl Into<String>, name: impl Into<String>) -> Self {
        self.issuer = Some((kind.into(), name.into()));
        self
    }

    /// A NetworkPolicy: webhooks may be called from everywhere, because API servers have addresses of their own; metrics and health only
    /// from these namespaces (and by kubelets); the program reaches DNS and [API servers](Self::api_server_ports) and nothing else. Allow
    /// more by [`edit`](Self::edit).
    pub fn network_policy<T: Into<String>>(mut self, metrics_readers: impl IntoIterator<Item = T>) -> Self {
        self.metrics_readers = Some(metrics_readers.into_iter().map(Into::into).collect());
        self
    }

    /// The ports of API servers, for the [NetworkPolicy](Self::network_policy): that of the Service `kubernetes`, and those behind it,
    /// because network plugins see either. `kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes` shows the
    /// latter. By default 443, 6443 (kubeadm, kind, k3s, OpenShift), 8443 (minikube) and 16443 (MicroK8s). The Helm chart has them as the
    /// value `networkPolicy.apiServerPorts`.
    pub fn api_server_ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.api_server_ports = ports.into_iter().collect();
        self
    }

    /// A ServiceMonitor, with which the Prometheus operator finds `/metrics`. Its CRD must be there.
    pub fn service_monitor(mut self) -> Self {
        self.service_monitor = true;
        self
    }

    /// A ConfigMap with the dashboard of this library's metrics, labelled `grafana_dashboard`, as Grafana's chart looks for it.
    pub fn dashboard(mut self) -> Self {
        self.dashboard = true;
        self
    }

    /// An object for users to try, in `samples/`. It is not installed.
    pub fn sample<K: Serialize>(mut self, object: &K) -> Self {
        self.samples.push(serde_json::to_value(object).map_err(|error| error.to_string()));
        self
    }

    /// Changes the objects of one kind, after everything else: what has no method here. Several edits apply in their order.
    ///
    /// ```
    /// # use kube_operator::{manager::Manager, manifests::{Form, Manifests, offline_client}};
    /// use k8s_openapi::api::apps::v1::Deployment;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let manager = Manager::new(offline_client("tools"));
    /// let manifests = Manifests::new("checker", &manager)
    ///     .edit(|deployment: &mut Deployment| deployment.spec.revision_history_limit = Some(2));
    /// # assert!(manifests.files([Form::Yaml])?[0].text.contains("revisionHistoryLimit: 2"));
    /// # Ok::<_, kube_operator::manifests::ManifestsError>(()) })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit<K>(mut self, edit: impl Fn(&mut K) + Send + Sync + 'static) -> Self
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        self.edits.push(Edit {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            apply: Arc::new(move |value| {
                let mut object: K = serde_json::from_value(value)?;
                edit(&mut object);
                serde_json::to_value(object)
            }),
        });
        self
    }

    /// What the roles permit: what the manager needs and [what was added](Self::permissions). A test compares it with what an
    /// [`RbacRecorder`](crate::rbac::RbacRecorder) records, by [`missing_from`](Permissions::missing_from) and
    /// [`unused_by`](Permissions::unused_by).
    #[must_use]
    pub fn granted(&self) -> Permissions {
        self.needs().into_iter().map(|need| need.permissions).fold(Permissions::default(), Permissions::union)
    }

    /// Which part of the program needs which permissions: controllers, caches, leader election, certificates, [`Manager::writes`], and
    /// [what was added](Self::permissions). `cargo kube rbac` prints them.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let need = |(part, permissions): (String, Permissions)| Need { part, permissions };
        let further = ("Manifests::permissions".to_owned(), self.further.clone());
        let further = Some(further).filter(|(_, permissions)| !permissions.is_empty());
        self.facts.needs.iter().cloned().chain(further).map(need).collect()
    }
}

impl fmt::Debug for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifests")
            .field("name", &self.name)
            .field("namespace", &self.facts.namespace)
            .finish_non_exhaustive()
    }
}
