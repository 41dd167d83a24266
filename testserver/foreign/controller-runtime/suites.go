// Package suites requires the module whose own tests the job `cargo xtask controller-runtime` runs against the embedded server. To
// change its version: go get -t sigs.k8s.io/controller-runtime/pkg/{builder,cache,client,controller,source}@VERSION
package suites

import (
	_ "sigs.k8s.io/controller-runtime"
)
