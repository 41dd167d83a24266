// Writes the table of protobuf messages of the test server.
//
//	go run . > ../../server/data/messages.txt
//	go run . samples > ../../server/src/protobuf/recorded/samples.jsonl
//
// The field numbers and wire types come from the generated.proto files of the Kubernetes modules, compiled here. The Go types of
// the same modules say how a message looks in JSON: names, pointers, what is left out. Where both know a fact, they must agree.
package main

import (
	"bufio"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	files, err := compile()
	if err != nil {
		log.Fatal(err)
	}
	table := newTable(files)
	for _, known := range kinds() {
		table.addKind(known)
	}
	table.addOpenAPI(files["openapi.v2.Document"])
	out := bufio.NewWriter(os.Stdout)
	if len(os.Args) > 1 && os.Args[1] == "samples" {
		err = samples(table, out)
	} else {
		table.write(out)
	}
	if err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
