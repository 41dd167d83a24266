// Package v1 has the kind Page.
// +kubebuilder:object:generate=true
// +groupName=site.kube.test
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: "site.kube.test", Version: "v1"}
	// SchemeBuilder registers them.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds them to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Page{}, &PageList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// PageSpec is what is wanted.
type PageSpec struct {
	// +kubebuilder:validation:MaxLength=20
	Title string `json:"title,omitempty"`
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
}

// PageStatus is what was seen.
type PageStatus struct {
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Page is one page.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PageSpec   `json:"spec,omitempty"`
	Status            PageStatus `json:"status,omitempty"`
}

// PageList is a list of pages.
// +kubebuilder:object:root=true
type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}

// DeepCopyObject copies the page.
func (in *Page) DeepCopyObject() runtime.Object {
	out := &Page{TypeMeta: in.TypeMeta, Spec: in.Spec}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Spec.Replicas != nil {
		replicas := *in.Spec.Replicas
		out.Spec.Replicas = &replicas
	}
	for _, condition := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *condition.DeepCopy())
	}
	return out
}

// DeepCopyObject copies the list.
func (in *PageList) DeepCopyObject() runtime.Object {
	out := &PageList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Page))
	}
	return out
}
