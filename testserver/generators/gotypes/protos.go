package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	_ "github.com/google/gnostic-models/openapiv2" // for its proto file
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The modules whose messages an API server reads and writes.
var modules = []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator", gnostic}

const (
	gnostic = "github.com/google/gnostic-models"
	// The messages of OpenAPI v2 documents.
	openAPI = gnostic + "/openapiv2/OpenAPIv2.proto"
)

// compile compiles the generated.proto files of the modules and returns their messages by name.
func compile() map[string]protoreflect.MessageDescriptor {
	roots := map[string]string{}
	names := []string{openAPI}
	for _, module := range modules {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		must(err)
		root := strings.TrimSpace(string(out))
		roots[module] = root
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "generated.proto" && !strings.Contains(path, "/testdata/") && !strings.Contains(path, "/testapigroup/") {
				rest, _ := filepath.Rel(root, path)
				names = append(names, module+"/"+filepath.ToSlash(rest))
			}
			return err
		})
		must(err)
	}
	open := func(name string) (io.ReadCloser, error) {
		for module, root := range roots {
			if rest, found := strings.CutPrefix(name, module+"/"); found {
				return os.Open(filepath.Join(root, rest))
			}
		}
		return nil, errors.New("no module has " + name)
	}
	sources := protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: open})
	compiler := protocompile.Compiler{Resolver: sources}
	files, err := compiler.Compile(context.Background(), names...)
	must(err)
	messages := map[string]protoreflect.MessageDescriptor{}
	for _, file := range files {
		for i := range file.Messages().Len() {
			message := file.Messages().Get(i)
			messages[string(message.FullName())] = message
		}
	}
	return messages
}
