package main

import (
	"reflect"
	"sort"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	discoverybeta "k8s.io/api/apidiscovery/v2beta1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsbeta "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorbeta "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

type kind struct {
	schema.GroupVersionKind
	goType reflect.Type
}

// kinds returns what API servers have a Go type for, sorted.
func kinds() []kind {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiextensionsbeta.AddToScheme, aggregator.AddToScheme,
		aggregatorbeta.AddToScheme, meta.AddMetaToScheme, discovery.AddToScheme, discoverybeta.AddToScheme,
	} {
		if err := add(known); err != nil {
			panic(err)
		}
	}
	var out []kind
	for gvk, goType := range known.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		// Options and watch events are the same in every version: v1 has them all.
		if strings.HasSuffix(goType.PkgPath(), "/meta/v1") && gvk.Group != "" && gvk.Group != meta.GroupName {
			continue
		}
		out = append(out, kind{gvk, goType})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].String() < out[j].String() })
	return out
}
