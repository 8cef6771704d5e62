// Package integrator implements the commands for integrators: demo, trigger, listen, tail and
// mcp. They call a sandbox, and mcp calls live if asked to, as any integrator does: over HTTP
// with a key, through the published Go client. They import no use case and open no database.
package integrator
