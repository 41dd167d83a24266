// Package controller makes a ConfigMap for every Page.
package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sitev1 "kube.test/kubebuilder/api/v1"
)

// Finalizer is on every Page until its clean-up.
const Finalizer = "site.kube.test/cleanup"

// PageReconciler reconciles a Page.
type PageReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// Reconcile writes the ConfigMap and the condition Ready; it removes the finalizer of a deleted Page.
func (r *PageReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	page := &sitev1.Page{}
	if err := r.Get(ctx, req.NamespacedName, page); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !page.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(page, Finalizer) {
			return ctrl.Result{}, r.Update(ctx, page)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(page, Finalizer) {
		if err := r.Update(ctx, page); err != nil {
			return ctrl.Result{}, err
		}
	}
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: page.Name, Namespace: page.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, site, func() error {
		site.Data = map[string]string{"title": page.Spec.Title}
		return controllerutil.SetControllerReference(page, site, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Written", ObservedGeneration: page.Generation}
	if meta.SetStatusCondition(&page.Status.Conditions, ready) {
		return ctrl.Result{}, r.Status().Update(ctx, page)
	}
	return ctrl.Result{}, nil
}

// SetupWithManager registers the controller.
func (r *PageReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&sitev1.Page{}).Owns(&corev1.ConfigMap{}).Named("page").Complete(r)
}
