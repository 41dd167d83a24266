// The same on Go's multicluster-runtime. See ../README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/providers/clusters"
)

func run() error {
	expected, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard())
	kubeconfig, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	hub, err := clientcmd.NewNonInteractiveClientConfig(*kubeconfig, "hub", nil, nil).ClientConfig()
	if err != nil {
		return err
	}
	// Its Add holds the lock that its Start waits for while this queue is full.
	clusters.InputChannelSize = len(kubeconfig.Contexts)
	provider := clusters.New()
	manager, err := mcmanager.New(hub, provider, mcmanager.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	var reconciled atomic.Int64
	err = mcbuilder.ControllerManagedBy(manager).Named("maps").For(&corev1.ConfigMap{}).Complete(mcreconcile.Func(
		func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
			member, err := manager.GetCluster(ctx, request.ClusterName)
			if err != nil {
				return ctrl.Result{}, err
			}
			var configMap corev1.ConfigMap
			if err := member.GetClient().Get(ctx, request.NamespacedName, &configMap); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			if reconciled.Add(1) == expected {
				fmt.Println("all")
			}
			return ctrl.Result{}, nil
		},
	))
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	go func() {
		for name := range kubeconfig.Contexts {
			if name == "hub" {
				continue
			}
			if err := add(ctx, provider, *kubeconfig, name); err != nil {
				fmt.Fprintln(os.Stderr, name, err)
				os.Exit(1)
			}
		}
	}()
	return manager.Start(ctx)
}

func add(ctx context.Context, provider *clusters.Provider, kubeconfig clientcmdapi.Config, name string) error {
	config, err := clientcmd.NewNonInteractiveClientConfig(kubeconfig, name, nil, nil).ClientConfig()
	if err != nil {
		return err
	}
	member, err := cluster.New(config)
	if err != nil {
		return err
	}
	return provider.Add(ctx, multicluster.ClusterName(name), member)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
