// Writes what the test server knows of the Go types of Kubernetes. Facts only: names, kinds, numbers, flags, tags. See README.md of the
// folder above.
//
//	go run . types > ../../server/data/gotypes.txt
//	go run . tags ../../server/data/kinds.jsonl > ../../server/data/tags.txt
//	go run . samples > ../../server/src/protobuf/recorded/samples.jsonl
//	go run . quantities > ../../../crates/kube-core/src/quantity/recorded.txt
//	go run . labels > ../../../crates/kube-core/src/labels/recorded.txt
//
// The Go types say how a value looks in JSON: names, pointers, what is left out. The field numbers come from the generated.proto files
// of the same modules, compiled here. Where both know a fact, they must agree.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch command := append(os.Args[1:], "")[0]; command {
	case "types":
		newTable(kinds()).write(out)
	case "tags":
		sources := newSources()
		types := newTable(served(os.Args[2], kinds())).types
		for _, name := range sorted(types) {
			for _, line := range rules(sources.tags(types[name])) {
				fmt.Fprintln(out, name+" "+line)
			}
		}
	case "samples":
		must(samples(out))
	case "quantities":
		quantities(out)
	case "labels":
		labels(out)
	default:
		log.Fatal("types, tags KINDS, samples, quantities or labels")
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
