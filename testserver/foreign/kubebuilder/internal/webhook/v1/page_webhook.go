// Package v1 has the webhooks of Page.
package v1

import (
	"context"
	"errors"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sitev1 "kube.test/kubebuilder/api/v1"
)

// SetupPageWebhookWithManager registers the webhooks.
func SetupPageWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &sitev1.Page{}).WithDefaulter(&PageDefaulter{}).WithValidator(&PageValidator{}).Complete()
}

// PageDefaulter sets one replica.
type PageDefaulter struct{}

// Default sets what is missing.
func (*PageDefaulter) Default(_ context.Context, page *sitev1.Page) error {
	if page.Spec.Replicas == nil {
		page.Spec.Replicas = ptr.To[int32](1)
	}
	return nil
}

// PageValidator refuses pages without a title.
type PageValidator struct{}

// ValidateCreate refuses a page without a title, and warns of many replicas.
func (*PageValidator) ValidateCreate(_ context.Context, page *sitev1.Page) (admission.Warnings, error) {
	if page.Spec.Title == "" {
		return nil, errors.New("a page needs a title")
	}
	if *page.Spec.Replicas > 100 {
		return admission.Warnings{"many replicas"}, nil
	}
	return nil, nil
}

// ValidateUpdate refuses a new title.
func (*PageValidator) ValidateUpdate(_ context.Context, old, page *sitev1.Page) (admission.Warnings, error) {
	if old.Spec.Title != page.Spec.Title {
		return nil, errors.New("the title is for ever")
	}
	return nil, nil
}

// ValidateDelete permits everything.
func (*PageValidator) ValidateDelete(context.Context, *sitev1.Page) (admission.Warnings, error) {
	return nil, nil
}
