package v1

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sitev1 "kube.test/kubebuilder/api/v1"
)

var _ = Describe("Page Webhook", func() {
	page := func(name, title string) *sitev1.Page {
		return &sitev1.Page{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       sitev1.PageSpec{Title: title},
		}
	}

	It("sets what is missing", func() {
		made := page("defaulted", "Hello")
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		Expect(made.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
	})

	It("refuses a page without a title", func() {
		err := k8sClient.Create(ctx, page("untitled", ""))
		Expect(err).To(MatchError(ContainSubstring(`admission webhook "vpage-v1.kb.io" denied the request: a page needs a title`)))
	})

	It("refuses a new title", func() {
		made := page("renamed", "Hello")
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		made.Spec.Title = "Goodbye"
		Expect(k8sClient.Update(ctx, made)).To(MatchError(ContainSubstring("the title is for ever")))
	})
})
