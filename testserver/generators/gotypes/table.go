package main

import (
	"fmt"
	"io"
	"log"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type modelNamer interface{ OpenAPIModelName() string }

// A table has the structs that kinds refer to, by their names in OpenAPI documents without `io.k8s.`.
type table struct {
	kinds []kind
	types map[string]reflect.Type
}

func newTable(kinds []kind) *table {
	t := &table{kinds, map[string]reflect.Type{}}
	for _, known := range kinds {
		t.add(known.goType)
	}
	return t
}

// add adds a type and those in it.
func (t *table) add(goType reflect.Type) {
	for goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map {
		goType = goType.Elem()
	}
	if goType.Kind() != reflect.Struct || scalar(goType) != "" {
		return
	}
	if _, found := t.types[nameOf(goType)]; found {
		return
	}
	t.types[nameOf(goType)] = goType
	for i := range goType.NumField() {
		if field := goType.Field(i); field.IsExported() {
			t.add(field.Type)
		}
	}
}

func (t *table) write(out io.Writer) {
	packages := map[string]string{}
	for _, known := range t.kinds {
		if !hasTypeMeta(known.goType) || shortName(nameOf(known.goType)) != known.Kind {
			log.Fatalf("the table cannot show that %v is the type of a kind", known.goType)
		}
		packages[known.GroupVersion().String()+" "+packageOf(nameOf(known.goType))] = ""
	}
	for _, known := range sorted(packages) {
		fmt.Fprintf(out, "version %s\n", known)
	}
	messages := compile()
	sources := newSources()
	for _, name := range sorted(t.types) {
		message, found := messages[protoName(t.types[name])]
		if !found {
			log.Fatalf("no generated.proto file has %v", t.types[name])
		}
		line := line{name: name}
		line.structure(message, t.types[name], sources.off(t.types[name]))
		fmt.Fprintln(out, line.String())
	}
	writeOpenAPI(messages, out)
}

// A line is a struct: its name, then a word for each field.
type line struct {
	name  string
	words []string
	// The number that a field has if its word says nothing else.
	next int
}

func (l *line) String() string { return strings.Join(append([]string{l.name}, l.words...), " ") }

// add adds a field: its number if that is not one more than the number before, its name, its flag and its type.
func (l *line) add(number protoreflect.FieldNumber, name, flag, spelled string) {
	word := name + flag + spelled
	if int(number) != l.next+1 {
		word = strconv.Itoa(int(number)) + word
	}
	l.words, l.next = append(l.words, word), int(number)
}

var protobufTag = regexp.MustCompile(`^[a-z0-9]+,(\d+)`)

// structure adds the fields of a struct. Those in `off` have a feature gate that is off.
func (l *line) structure(message protoreflect.MessageDescriptor, goType reflect.Type, off map[string]bool) {
	numbered := 0
	for i := range goType.NumField() {
		field := goType.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" || !field.IsExported() {
			continue
		}
		number := protobufTag.FindStringSubmatch(field.Tag.Get("protobuf"))
		switch {
		case isTypeMeta(field):
			l.words = append(l.words, "TypeMeta")
			continue
		case number == nil:
			log.Fatalf("%v.%s has no number", goType, field.Name)
		}
		parsed, _ := strconv.Atoi(number[1])
		descriptor := message.Fields().ByNumber(protoreflect.FieldNumber(parsed))
		if descriptor == nil {
			log.Fatalf("%s has no field %d, of %s", message.FullName(), parsed, field.Name)
		}
		flag := flagOf(tag[1:])
		if field.Anonymous && tag[0] == "" {
			flag = "+"
		}
		if off[field.Name] {
			flag += "-"
		}
		name := tag[0]
		if name == "" && flag != "+" {
			name = string(descriptor.Name()) // in a union of schemas
		}
		l.add(descriptor.Number(), name, flag, l.spell(descriptor, field.Type))
		numbered++
	}
	if numbered != message.Fields().Len() {
		log.Fatalf("%s has other fields than its Go type", message.FullName())
	}
}

// The `apiVersion` and `kind` of a kind, which are around its message.
func isTypeMeta(field reflect.StructField) bool { return field.Type == reflect.TypeOf(meta.TypeMeta{}) }

func hasTypeMeta(goType reflect.Type) bool {
	return goType.NumField() > 0 && isTypeMeta(goType.Field(0))
}

func flagOf(options []string) string {
	switch {
	case slices.Contains(options, "omitzero"):
		return "!"
	case slices.Contains(options, "omitempty"):
		return "?"
	}
	return "="
}

var scalars = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                      "Q",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                          "T",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                     "U",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                    "I",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                       "R",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                      "R",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":      "R",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1.JSON": "R",
}

// scalar is the letter of a type that JSON has a form of its own for.
func scalar(goType reflect.Type) string { return scalars[goType.PkgPath()+"."+goType.Name()] }

// The unions of schemas, which Go reads and writes with code of its own.
var union = regexp.MustCompile(`\.JSONSchemaPropsOr[A-Za-z]+$`)

// spell writes a type: `*` pointer, `[]` list, `[@]` list that is a message, `{}` map, then a letter or the name of a struct. Named
// scalars and maps have their Go name. The descriptor is that of the field.
func (l *line) spell(descriptor protoreflect.FieldDescriptor, goType reflect.Type) string {
	if letter := scalar(goType); letter != "" {
		checkMessage(descriptor, goType)
		return letter
	}
	named := ""
	if goType.PkgPath() != "" {
		named = "<" + goType.String() + ">"
	}
	switch goType.Kind() {
	case reflect.Pointer:
		return "*" + l.spell(descriptor, goType.Elem())
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			check(descriptor, goType)
			return "y"
		}
		if message := descriptor.Message(); !descriptor.IsList() {
			checkMessage(descriptor, goType)
			items := message.Fields().ByNumber(1)
			if message.Fields().Len() != 1 || !items.IsList() {
				log.Fatalf("%s is no message of items", message.FullName())
			}
			return "[@]" + l.spell(items, goType.Elem())
		}
		return "[]" + l.spell(descriptor, goType.Elem())
	case reflect.Map:
		if goType.Key().Kind() != reflect.String || !descriptor.IsMap() {
			log.Fatalf("%s: keys are not texts", descriptor.FullName())
		}
		return "{}" + named + l.spell(descriptor.MapValue(), goType.Elem())
	case reflect.Struct:
		checkMessage(descriptor, goType)
		name := nameOf(goType)
		if packageOf(name) == packageOf(l.name) {
			name = shortName(name)
		}
		if union.MatchString(goType.String()) {
			return "~" + name
		}
		return "@" + name
	}
	check(descriptor, goType)
	letter, found := map[reflect.Kind]string{
		reflect.String: "s", reflect.Bool: "b", reflect.Int32: "i", reflect.Int64: "l", reflect.Int: "l", reflect.Uint8: "u",
		reflect.Float64: "f",
	}[goType.Kind()]
	if !found {
		log.Fatalf("no spelling for %v", goType)
	}
	return letter + named
}

// check checks that Go and generated.proto agree on a value that is not a message.
func check(descriptor protoreflect.FieldDescriptor, goType reflect.Type) {
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "bool", reflect.Int32: "int32", reflect.Int64: "int64",
		reflect.Float64: "double", reflect.Slice: "bytes", reflect.Uint8: "int32",
	}[goType.Kind()]
	if descriptor.Kind().String() != want {
		log.Fatalf("%s is %s in generated.proto and %s in Go", descriptor.FullName(), descriptor.Kind(), goType)
	}
}

func checkMessage(descriptor protoreflect.FieldDescriptor, goType reflect.Type) {
	if message := descriptor.Message(); message == nil || string(message.FullName()) != protoName(goType) {
		log.Fatalf("%s is %v in Go", descriptor.FullName(), goType)
	}
}

func protoName(goType reflect.Type) string {
	path := strings.NewReplacer("/", ".", "-", "_").Replace(goType.PkgPath())
	return path + "." + goType.Name()
}

// nameOf is the name of a type in OpenAPI documents without `io.k8s.`.
func nameOf(goType reflect.Type) string {
	namer, ok := reflect.New(goType).Interface().(modelNamer)
	if !ok {
		log.Fatalf("%v has no name in OpenAPI", goType)
	}
	return strings.TrimPrefix(namer.OpenAPIModelName(), "io.k8s.")
}

func packageOf(name string) string { return name[:strings.LastIndex(name, ".")] }

func shortName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

func sorted[V any](of map[string]V) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
