// Command framework is a provider of version 6 for tests, on terraform-plugin-framework. Its
// resources are documents in an HTTP store, whose faults the tests control.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	err := providerserver.Serve(context.Background(), newProvider,
		providerserver.ServeOpts{Address: "example.com/southbound/fw"})
	if err != nil {
		log.Fatal(err)
	}
}
