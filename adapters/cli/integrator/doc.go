// Package integrator has the commands of those who build on the API: demo,
// trigger, listen, tail and mcp. They call a sandbox, and mcp live where it is asked
// to, as any integrator does, over HTTP with a key, by the Go client that is published
// for them; they import no use case and open no database.
package integrator
