// Package integrator has the commands of those who build on the API: demo,
// trigger, listen and tail. They call a sandbox as any integrator does, over HTTP
// with a test key, by the Go client that is published for them; they import no use
// case and open no database.
package integrator
