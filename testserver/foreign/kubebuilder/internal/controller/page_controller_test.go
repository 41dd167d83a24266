package controller

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	sitev1 "kube.test/kubebuilder/api/v1"
)

const patience = 10 * time.Second

var _ = Describe("Page Controller", func() {
	page := func(name string) *sitev1.Page {
		return &sitev1.Page{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       sitev1.PageSpec{Title: "Hello"},
		}
	}

	It("writes a ConfigMap and the condition", func() {
		written := page("written")
		Expect(k8sClient.Create(ctx, written)).To(Succeed())
		site := &corev1.ConfigMap{}
		Eventually(func() error {
			return k8sClient.Get(ctx, client.ObjectKeyFromObject(written), site)
		}).WithTimeout(patience).Should(Succeed())
		Expect(site.Data).To(HaveKeyWithValue("title", "Hello"))
		Expect(metav1.IsControlledBy(site, written)).To(BeTrue())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(written), written)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(written.Status.Conditions, "Ready")).To(BeTrue())
		}).WithTimeout(patience).Should(Succeed())

		By("repairing it when somebody deletes it")
		Expect(k8sClient.Delete(ctx, site)).To(Succeed())
		Eventually(func(g Gomega) {
			again := &corev1.ConfigMap{}
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(written), again)).To(Succeed())
			g.Expect(again.UID).NotTo(Equal(site.UID))
		}).WithTimeout(patience).Should(Succeed())
	})

	It("cleans up a deleted page", func() {
		deleted := page("deleted")
		Expect(k8sClient.Create(ctx, deleted)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(deleted), deleted)).To(Succeed())
			g.Expect(deleted.Finalizers).To(ContainElement(Finalizer))
		}).WithTimeout(patience).Should(Succeed())
		Expect(k8sClient.Delete(ctx, deleted)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(deleted), deleted))
		}).WithTimeout(patience).Should(BeTrue())

		By("finding what it owned, as no garbage collector runs in a test environment")
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(deleted), &corev1.ConfigMap{})).To(Succeed())
	})

	It("refuses what the schema does not permit", func() {
		long := page("long")
		long.Spec.Title = "more than twenty characters"
		err := k8sClient.Create(ctx, long)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	})

	It("has users with the rights of their roles", func() {
		ann, err := testEnv.AddUser(envtest.User{Name: "ann", Groups: []string{"team", "readers"}}, &rest.Config{})
		Expect(err).NotTo(HaveOccurred())
		asAnn, err := client.New(ann.Config(), client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())

		review := &authenticationv1.SelfSubjectReview{}
		Expect(asAnn.Create(ctx, review)).To(Succeed())
		Expect(review.Status.UserInfo.Username).To(Equal("ann"))
		Expect(review.Status.UserInfo.Groups).To(ConsistOf("team", "readers", "system:authenticated"))

		err = asAnn.List(ctx, &sitev1.PageList{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "page-reader"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{sitev1.GroupVersion.Group}, Resources: []string{"pages"}, Verbs: []string{"list"}}},
		}
		Expect(k8sClient.Create(ctx, role)).To(Succeed())
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "page-reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "page-reader"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
		}
		Expect(k8sClient.Create(ctx, binding)).To(Succeed())
		Eventually(func() error {
			return asAnn.List(ctx, &sitev1.PageList{})
		}).WithTimeout(patience).Should(Succeed())
		err = asAnn.Create(ctx, page("by-ann"))
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})

	It("keeps namespaces, as no namespace controller runs in a test environment", func() {
		shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		Expect(k8sClient.Delete(ctx, shop)).To(Succeed())
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(shop), shop)).To(Succeed())
		Expect(shop.Status.Phase).To(Equal(corev1.NamespaceTerminating))
	})
})
