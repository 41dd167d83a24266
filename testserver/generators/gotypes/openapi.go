package main

import (
	"fmt"
	"io"
	"log"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeOpenAPI writes the messages of OpenAPI v2 documents, which have no Go types that show their JSON.
func writeOpenAPI(messages map[string]protoreflect.MessageDescriptor, out io.Writer) {
	lines := map[string]*line{}
	addOpenAPI(messages["openapi.v2.Document"], lines)
	for _, name := range sorted(lines) {
		fmt.Fprintln(out, lines[name])
	}
}

func addOpenAPI(message protoreflect.MessageDescriptor, lines map[string]*line) {
	name := string(message.FullName())
	if _, found := lines[name]; found {
		return
	}
	line := &line{name: name}
	lines[name] = line
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		name, flag := field.JSONName(), "?"
		if reference, found := strings.CutPrefix(string(field.Name()), "_"); found {
			name = "$" + reference
		}
		if message.Oneofs().Len() > 0 {
			flag = "|"
		}
		// A list of names and values is a map in JSON: its members are those of the object around it.
		if inner := field.Message(); inner != nil && strings.HasPrefix(string(inner.Name()), "Named") {
			line.add(field.Number(), name, "+", "{}"+spellOpenAPI(inner.Fields().ByName("value"), lines))
			continue
		}
		spelled := spellOpenAPI(field, lines)
		if field.IsList() {
			spelled = "[]" + spelled
		}
		line.add(field.Number(), name, flag, spelled)
	}
}

// Messages that are lists in JSON.
var openAPILists = map[string]bool{"ItemsItem": true, "StringArray": true, "TypeItem": true}

func spellOpenAPI(field protoreflect.FieldDescriptor, lines map[string]*line) string {
	message := field.Message()
	switch {
	case message == nil:
		letter, found := map[protoreflect.Kind]string{
			protoreflect.StringKind: "s", protoreflect.BoolKind: "b", protoreflect.Int64Kind: "l", protoreflect.DoubleKind: "f",
		}[field.Kind()]
		if !found {
			log.Fatalf("no spelling for %s", field.FullName())
		}
		return letter
	case message.FullName() == "google.protobuf.Any":
		return "y"
	case openAPILists[string(message.Name())] && message.Fields().Len() == 1 && message.Fields().Get(0).Number() == 1:
		return "[@]" + spellOpenAPI(message.Fields().Get(0), lines)
	}
	addOpenAPI(message, lines)
	return "@" + string(message.Name())
}
