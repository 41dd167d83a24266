// Writes the Go types of the served built-in kinds as data: for every struct its fields as JSON sees them, and the declarative validation
// tags on them. Facts only: names, kinds, flags, tags. See README.md of the folder above.
//
//	go run . fields KINDS   lines of server/data/gotypes.txt
//	go run . tags KINDS     lines of server/data/tags.txt
//
// KINDS is server/data/kinds.jsonl.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type modelNamer interface{ OpenAPIModelName() string }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("fields|tags KINDS")
	}
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	found := collect(roots(os.Args[2]))
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	sources := newSources()
	switch os.Args[1] {
	case "fields":
		for _, name := range names {
			parts := []string{name}
			off := sources.off(found[name])
			for _, field := range fieldsOf(found[name]) {
				if off[field.goName] {
					field.flag = "-"
				}
				parts = append(parts, field.json+field.flag+spell(field.kind))
			}
			fmt.Fprintln(out, strings.Join(parts, " "))
		}
	case "tags":
		for _, name := range names {
			for _, line := range rules(sources.tags(found[name])) {
				fmt.Fprintln(out, name+" "+line)
			}
		}
	default:
		log.Fatal("fields|tags KINDS")
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// roots are the Go types of the served kinds.
func roots(file string) []reflect.Type {
	text, err := os.ReadFile(file)
	must(err)
	types := scheme.Scheme.AllKnownTypes()
	var out []reflect.Type
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var row struct{ Group, Version, Kind string }
		must(json.Unmarshal([]byte(line), &row))
		gvk := schema.GroupVersionKind{Group: row.Group, Version: row.Version, Kind: row.Kind}
		known, ok := types[gvk]
		if !ok {
			log.Printf("no Go type for %v: left out", gvk)
			continue
		}
		out = append(out, known)
	}
	return out
}

// collect finds the structs that the types refer to, by their names in OpenAPI documents without `io.k8s.`.
func collect(types []reflect.Type) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || scalar(t) != "" {
			return
		}
		if _, ok := found[nameOf(t)]; ok {
			return
		}
		found[nameOf(t)] = t
		for _, field := range fieldsOf(t) {
			visit(field.kind)
		}
	}
	for _, t := range types {
		visit(t)
	}
	return found
}

func nameOf(t reflect.Type) string {
	if namer, ok := reflect.New(t).Interface().(modelNamer); ok {
		return strings.TrimPrefix(namer.OpenAPIModelName(), "io.k8s.")
	}
	log.Fatalf("%v has no name in OpenAPI", t)
	return ""
}

type field struct {
	json, flag, goName string
	kind               reflect.Type
}

// fieldsOf are the fields of a struct as JSON sees them: those of inlined structs in their place.
// The flag is `=` (always printed), `?` (omitempty), `0` (omitzero); `-` is a field whose feature gate is off.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		parts := strings.Split(tag, ",")
		name, options := parts[0], parts[1:]
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && (name == "" || !ok) {
			out = append(out, fieldsOf(f.Type)...)
			continue
		}
		flag := "="
		for _, option := range options {
			switch option {
			case "omitempty":
				flag = "?"
			case "omitzero":
				flag = "0"
			}
		}
		out = append(out, field{name, flag, f.Name, f.Type})
	}
	return out
}

var scalars = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "Q",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "T",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "U",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "D",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "I",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "R",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "F",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "J",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "A",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "B",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "S",
}

// scalar is the letter of a type that JSON has a form of its own for.
func scalar(t reflect.Type) string { return scalars[t.PkgPath()+"."+t.Name()] }

// spell writes a type: `*` pointer, `[]` list, `{}` map, then a letter or the name of a struct. Named scalars have their Go name.
func spell(t reflect.Type) string {
	if letter := scalar(t); letter != "" {
		return letter
	}
	named := ""
	if t.PkgPath() != "" {
		named = "<" + t.String() + ">"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + spell(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[]" + named + spell(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			log.Fatalf("map with keys %v", t.Key())
		}
		return "{}" + named + spell(t.Elem())
	case reflect.String:
		return "s" + named
	case reflect.Bool:
		return "b" + named
	case reflect.Int32:
		return "i" + named
	case reflect.Int64, reflect.Int:
		return "l" + named
	case reflect.Uint8:
		return "u" + named
	case reflect.Float64:
		return "f" + named
	case reflect.Struct:
		return "@" + nameOf(t)
	}
	log.Fatalf("no spelling for %v", t)
	return ""
}

var _ = metav1.ObjectMeta{}
