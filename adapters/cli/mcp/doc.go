// Package mcp is a server of the Model Context Protocol on standard input and output: tools
// with which agents use the public API.
//
// It calls the API through the published Go client, with one key, as any integrator does. The
// scopes of the key are its permissions. It reads the documentation from the site next to the
// sandbox, so that its answers are about the installation it calls. It stores nothing, imports
// no use case, and opens no database.
//
// Decisions that bind this package:
//
//   - The tools are made by hand, for what integrators ask. One for each operation of the API
//     would cost an agent its attention and offer what it should not do.
//   - add is the only way to create a tool. It refuses writes on live, sets a deadline and
//     formats errors, so that no tool can leave that out.
//   - All output passes a filter that removes keys: others read an agent's transcript.
//   - Only standard input and output. Over HTTP the protocol needs OAuth and a defence against
//     DNS rebinding, without benefit on an integrator's own machine.
package mcp
