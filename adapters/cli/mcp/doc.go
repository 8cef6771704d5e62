// Package mcp is a server of the Model Context Protocol on standard input and
// output: tools by which agents use the public API.
//
// It calls the API by the client that is published, with one key, as any integrator
// does; the key's scopes are its permissions. It reads the documentation from the
// site beside the sandbox, so that what it tells is about the installation it calls.
// It stores nothing, imports no use case, and opens no database.
//
// Decisions that bind this package:
//
//   - The tools are made by hand, for what integrators ask; one for each operation of
//     the API would cost an agent its attention and offer what it should not do.
//   - add is the only way to make a tool. It refuses writes on live, sets a deadline
//     and words errors, so that no tool can leave that out.
//   - Whatever leaves passes a scrubber that takes keys out: an agent's transcript is
//     read by others.
//   - Only standard input and output. Over HTTP the protocol needs OAuth and a defence
//     against DNS rebinding, for nothing that an integrator's own machine needs.
package mcp
