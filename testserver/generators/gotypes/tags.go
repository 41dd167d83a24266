// Reads the declarative validation tags in the sources of the Go types.

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
)

// Tags that say nothing about values.
var skipped = []string{
	"deepcopy-gen", "conversion-gen", "openapi-gen", "prerelease-lifecycle-gen", "supportsSubresource", "isSubresource",
	"deprecated", "opaqueType", "validation-gen", "customValidation", "listType=atomic",
}

// Names the feature gates of a field.
const gateTag = "+featureGate="

// sources are the packages read so far, by path: the tags of each type (under "") and of its fields.
type sources struct {
	packages map[string]map[string]map[string][]string
}

func newSources() *sources { return &sources{map[string]map[string]map[string][]string{}} }

// tags are lines `FIELD TAG` of a struct, `. TAG` of the struct itself and of named scalars: `FIELD TAG` too, as they apply where the type is used.
func (s *sources) tags(t reflect.Type) []string {
	var out []string
	of := s.of(t)
	for _, tag := range of[""] {
		out = append(out, ". "+tag)
	}
	var fields func(t reflect.Type)
	fields = func(t reflect.Type) {
		tags := s.of(t)
		for i := 0; i < t.NumField(); i++ {
			f := t.Field(i)
			name := strings.Split(f.Tag.Get("json"), ",")[0]
			if name == "-" || !f.IsExported() {
				continue
			}
			if f.Anonymous && name == "" {
				fields(f.Type)
				continue
			}
			for _, tag := range tags[f.Name] {
				out = append(out, name+" "+tag)
			}
			out = append(out, s.ofScalar(name, f.Type)...)
		}
	}
	fields(t)
	return out
}

// off are the fields of a struct, inlined structs included, whose feature gates are off: servers leave them out of what they store.
func (s *sources) off(t reflect.Type) map[string]bool {
	out := map[string]bool{untagged[t.Name()]: true}
	tags := s.of(t)
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.Anonymous && strings.Split(f.Tag.Get("json"), ",")[0] == "" {
			for name := range s.off(f.Type) {
				out[name] = true
			}
			continue
		}
		for _, tag := range tags[f.Name] {
			if gates, ok := strings.CutPrefix(tag, gateTag); ok {
				for _, gate := range strings.Split(gates, ",") {
					if disabled[strings.TrimSpace(gate)] {
						out[f.Name] = true
					}
				}
			}
		}
	}
	return out
}

// ofScalar are the tags of a named scalar, where a field has it.
func (s *sources) ofScalar(name string, t reflect.Type) []string {
	prefix := ""
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			prefix += "+k8s:eachVal="
		}
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct || t.PkgPath() == "" {
		return nil
	}
	var out []string
	for _, tag := range s.of(t)[""] {
		out = append(out, name+" "+prefix+tag)
	}
	return out
}

func (s *sources) of(t reflect.Type) map[string][]string {
	if t.PkgPath() == "" {
		return nil
	}
	known, ok := s.packages[t.PkgPath()]
	if !ok {
		known = read(t.PkgPath())
		s.packages[t.PkgPath()] = known
	}
	return known[t.Name()]
}

func read(path string) map[string]map[string][]string {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	must(err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*types*.go"))
	must(err)
	out := map[string]map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				typed := spec.(*ast.TypeSpec)
				members := map[string][]string{"": tagsIn(general.Doc, typed.Doc)}
				if members[""] != nil && isEnum(members[""]) {
					members[""] = append(members[""], constants(files, typed.Name.Name))
				}
				if structure, ok := typed.Type.(*ast.StructType); ok {
					for _, member := range structure.Fields.List {
						for _, name := range member.Names {
							members[name.Name] = tagsIn(member.Doc)
						}
					}
				}
				out[typed.Name.Name] = members
			}
		}
	}
	return out
}

func isEnum(tags []string) bool {
	for _, tag := range tags {
		if strings.HasSuffix(tag, "+k8s:enum") {
			return true
		}
	}
	return false
}

// constants are the values of a string type.
func constants(files []string, name string) string {
	var values []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		must(err)
		for _, declaration := range parsed.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.CONST {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				if of, ok := value.Type.(*ast.Ident); ok && of.Name == name && len(value.Values) == 1 {
					if literal, ok := value.Values[0].(*ast.BasicLit); ok {
						values = append(values, strings.Trim(literal.Value, `"`))
					}
				}
			}
		}
	}
	return "values=" + strings.Join(values, "|")
}

func tagsIn(groups ...*ast.CommentGroup) []string {
	var out []string
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if strings.HasPrefix(line, gateTag) || strings.HasPrefix(line, "+k8s:") && !has(skipped, line) {
				out = append(out, strings.TrimSpace(strings.SplitN(line, " //", 2)[0]))
			}
		}
	}
	return out
}

func has(parts []string, line string) bool {
	for _, part := range parts {
		if strings.Contains(line, "+k8s:"+part) {
			return true
		}
	}
	return false
}
