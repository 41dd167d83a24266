package main

import (
	"encoding/json"
	"os"
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

// kinds returns what API servers read and write in protobuf, sorted.
func kinds() []kind {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiextensionsbeta.AddToScheme, aggregator.AddToScheme,
		aggregatorbeta.AddToScheme, meta.AddMetaToScheme, discovery.AddToScheme, discoverybeta.AddToScheme,
	} {
		must(add(known))
	}
	var out []kind
	for gvk, goType := range known.AllKnownTypes() {
		// Internal kinds and tables have no encoding; a watch event is a frame around one.
		if _, encoded := reflect.PointerTo(goType).MethodByName("Marshal"); !encoded || gvk.Kind == "WatchEvent" {
			continue
		}
		// Options are the same in every version: v1 has them all.
		if strings.HasSuffix(goType.PkgPath(), "/meta/v1") && gvk.Group != "" && gvk.Group != meta.GroupName {
			continue
		}
		out = append(out, kind{gvk, goType})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].String() < out[j].String() })
	return out
}

// served are those of the kinds that a file with kinds.jsonl of the server names.
func served(file string, kinds []kind) []kind {
	text, err := os.ReadFile(file)
	must(err)
	rows := map[schema.GroupVersionKind]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var row schema.GroupVersionKind
		must(json.Unmarshal([]byte(line), &row))
		rows[row] = true
	}
	var out []kind
	for _, known := range kinds {
		if rows[known.GroupVersionKind] {
			out = append(out, known)
		}
	}
	return out
}
