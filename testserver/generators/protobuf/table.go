package main

import (
	"fmt"
	"io"
	"log"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Types that are not structs of fields in JSON: Go code of their own reads and writes them. The table has their fields as the
// generated.proto files name them.
var custom = regexp.MustCompile(`\.(Quantity|FieldsV1|MicroTime|Time|RawExtension|IntOrString|JSON|JSONSchemaPropsOr[A-Za-z]+)$`)

// A table has what is known of each message, by its name in OpenAPI documents.
type table struct {
	files map[string]protoreflect.MessageDescriptor
	kinds map[string]string
	lines map[string]string
}

func newTable(files map[string]protoreflect.MessageDescriptor) *table {
	return &table{files: files, kinds: map[string]string{}, lines: map[string]string{}}
}

// addKind adds a kind with everything in it, if it has a protobuf message: internal kinds and tables have none.
func (t *table) addKind(known kind) {
	if _, found := t.files[protoName(known.goType)]; !found {
		return
	}
	t.kinds[known.GroupVersion().String()+"/"+known.Kind] = t.add(known.goType)
}

// addOpenAPI adds the messages of OpenAPI v2 documents, which have no Go types that show their JSON.
func (t *table) addOpenAPI(message protoreflect.MessageDescriptor) string {
	name := string(message.FullName())
	if _, found := t.lines[name]; found {
		return name
	}
	t.lines[name] = ""
	head := "message " + name
	switch {
	case message.Oneofs().Len() > 0:
		head += " oneof"
	case name == "openapi.v2.Any":
		head += " custom"
	case name == "openapi.v2.ItemsItem" || name == "openapi.v2.TypeItem":
		head += " list"
	}
	lines := []string{head}
	for i := range message.Fields().Len() {
		lines = append(lines, t.openAPIField(message.Fields().Get(i)))
	}
	t.lines[name] = strings.Join(lines, "\n ")
	return name
}

// openAPIField describes a field. A list of names and values is a map in JSON: its members are those of the object around it.
func (t *table) openAPIField(field protoreflect.FieldDescriptor) string {
	number, name, flags := field.Number(), field.JSONName(), "pointer omitempty"
	if reference, found := strings.CutPrefix(string(field.Name()), "_"); found {
		name = "$" + reference
	}
	word := map[bool]string{false: "one", true: "list"}[field.IsList()]
	if message := field.Message(); message != nil && strings.HasPrefix(string(message.Name()), "Named") {
		word, flags, field = "map", "omitempty inline", message.Fields().ByName("value")
	}
	inner := field.Kind().String()
	switch message := field.Message(); {
	case message == nil:
	case message.FullName() == "google.protobuf.Any":
		inner = "bytes"
	default:
		inner = t.addOpenAPI(message)
	}
	return fmt.Sprintf("%d %s %s %s %s", number, name, word, inner, flags)
}

func (t *table) write(out io.Writer) {
	fmt.Fprint(out, header)
	for _, name := range sorted(t.kinds) {
		fmt.Fprintf(out, "kind %s %s\n", name, t.kinds[name])
	}
	for _, name := range sorted(t.lines) {
		fmt.Fprintf(out, "%s\n", t.lines[name])
	}
}

func sorted(of map[string]string) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// add adds the message of a Go type, and those in it. It returns the name.
func (t *table) add(goType reflect.Type) string {
	name := openAPIName(goType)
	if _, found := t.lines[name]; found {
		return name
	}
	t.lines[name] = "" // a message may contain itself
	message, found := t.files[protoName(goType)]
	if !found {
		log.Fatalf("no generated.proto file has %s", protoName(goType))
	}
	head, fields := "message "+name, []string(nil)
	switch {
	case custom.MatchString(name):
		head += " custom"
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			word := map[bool]string{false: "one", true: "list"}[field.IsList()]
			inner := t.protoType(field, customGoType(goType, field))
			fields = append(fields, fmt.Sprintf("%d %s %s %s", field.Number(), field.Name(), word, inner))
		}
	case goType.Kind() == reflect.Slice:
		head += " list"
		items := message.Fields().ByName("items")
		fields = append(fields, fmt.Sprintf("%d items list %s", items.Number(), t.protoType(items, goType.Elem())))
	default:
		fields = t.fields(message, goType)
	}
	t.lines[name] = strings.Join(append([]string{head}, fields...), "\n ")
	return name
}

// customGoType is the Go type of a message in a custom type: by name, as in the unions of JSON schemas.
func customGoType(goType reflect.Type, field protoreflect.FieldDescriptor) reflect.Type {
	if goType.Kind() == reflect.Struct {
		for i := range goType.NumField() {
			if strings.EqualFold(goType.Field(i).Name, string(field.Name())) {
				return element(goType.Field(i).Type)
			}
		}
	}
	return nil
}

func element(goType reflect.Type) reflect.Type {
	for goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice && goType.Elem().Kind() != reflect.Uint8 {
		goType = goType.Elem()
	}
	return goType
}

var protobufTag = regexp.MustCompile(`^[a-z0-9]+,(\d+)`)

// fields describes the fields of a struct, one a line, in the order of their numbers.
func (t *table) fields(message protoreflect.MessageDescriptor, goType reflect.Type) []string {
	byNumber := map[int]string{}
	for i := range goType.NumField() {
		field := goType.Field(i)
		tag := protobufTag.FindStringSubmatch(field.Tag.Get("protobuf"))
		if tag == nil {
			continue // apiVersion and kind, which are around the message
		}
		number, _ := strconv.Atoi(tag[1])
		descriptor := message.Fields().ByNumber(protoreflect.FieldNumber(number))
		if descriptor == nil {
			log.Fatalf("%s has no field %d, of %s", message.FullName(), number, field.Name)
		}
		byNumber[number] = fmt.Sprintf("%d %s", number, t.field(descriptor, field))
	}
	if len(byNumber) != message.Fields().Len() {
		log.Fatalf("%s has other fields than its Go type", message.FullName())
	}
	var numbers []int
	for number := range byNumber {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	var out []string
	for _, number := range numbers {
		out = append(out, byNumber[number])
	}
	return out
}

// field describes a field: its name in JSON, its type, and what decides when JSON has it.
func (t *table) field(descriptor protoreflect.FieldDescriptor, field reflect.StructField) string {
	tag := strings.Split(field.Tag.Get("json"), ",")
	words, goType := []string{}, field.Type
	name := tag[0]
	inline := name == "" && field.Anonymous
	if name == "" {
		name = field.Name
	}
	if goType.Kind() == reflect.Pointer {
		words, goType = append(words, "pointer"), goType.Elem()
	}
	kind := ""
	switch {
	case descriptor.IsMap():
		if goType.Key().Kind() != reflect.String {
			log.Fatalf("%s: keys are not texts", descriptor.FullName())
		}
		kind = "map " + t.protoType(descriptor.MapValue(), goType.Elem())
	case descriptor.IsList():
		kind = "list " + t.protoType(descriptor, goType.Elem())
	default:
		kind = "one " + t.protoType(descriptor, goType)
	}
	for _, option := range tag[1:] {
		if option == "omitempty" || option == "omitzero" {
			words = append(words, option)
		}
	}
	if inline {
		words = append(words, "inline")
	}
	return strings.Join(append([]string{name, kind}, words...), " ")
}

// protoType is the type of a value: a message by its name, else as in generated.proto. A Go type may be nil for those.
func (t *table) protoType(descriptor protoreflect.FieldDescriptor, goType reflect.Type) string {
	if descriptor.Kind() != protoreflect.MessageKind {
		check(descriptor, goType)
		return descriptor.Kind().String()
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if want := string(descriptor.Message().FullName()); protoName(goType) != want {
		log.Fatalf("%s is %s in Go, not %s", descriptor.FullName(), protoName(goType), want)
	}
	return t.add(goType)
}

// check checks that Go and generated.proto agree on a value that is not a message.
func check(descriptor protoreflect.FieldDescriptor, goType reflect.Type) {
	if goType == nil {
		return
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "bool", reflect.Int32: "int32", reflect.Int64: "int64",
		reflect.Float64: "double", reflect.Slice: "bytes", reflect.Uint8: "int32",
	}[goType.Kind()]
	if got := descriptor.Kind().String(); got != want {
		log.Fatalf("%s is %s in generated.proto and %s in Go", descriptor.FullName(), got, goType)
	}
}

func protoName(goType reflect.Type) string {
	path := strings.NewReplacer("/", ".", "-", "_").Replace(goType.PkgPath())
	return path + "." + goType.Name()
}

// openAPIName is the name of a Go type in OpenAPI documents, which is also that in types.jsonl.
func openAPIName(goType reflect.Type) string {
	host, path, _ := strings.Cut(goType.PkgPath(), "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + goType.Name()
}

const header = `# Written by generators/protobuf from the Go modules of Kubernetes 1.37: the protobuf messages of API servers, and their JSON.
#
#   kind VERSION/KIND MESSAGE          the message of a kind
#   message NAME [list|custom|oneof]   a message, by its name in OpenAPI; a list in JSON; one that Go reads and writes with code of
#                                      its own; one whose JSON is that of the field that it has
#    NUMBER JSON-NAME one|list|map TYPE [pointer] [omitempty] [omitzero] [inline]
#
# pointer: absent in protobuf when Go has nil; other single values are always there. omitempty, omitzero: as encoding/json has them.
# inline: its members are those of the message around it. The keys of maps are texts.
`
