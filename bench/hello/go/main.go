// The hello operator on Go's controller-runtime: one controller of ConfigMaps. See ../README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type hello struct {
	client.Client
	expected, reconciled int
	trace                bool // whether to print every reconcile
}

func (h *hello) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var configMap corev1.ConfigMap
	if err := h.Get(ctx, request.NamespacedName, &configMap); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	h.reconciled++ // one worker is the default
	if h.reconciled == 1 {
		fmt.Println("first")
	}
	if h.reconciled == h.expected {
		fmt.Println("all")
	}
	if h.trace {
		fmt.Println(configMap.Name, configMap.ResourceVersion)
	}
	return ctrl.Result{}, nil
}

func run() error {
	expected, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	reconciler := &hello{Client: manager.GetClient(), expected: expected, trace: os.Getenv("HELLO_TRACE") != ""}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
