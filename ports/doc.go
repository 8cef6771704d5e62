// Package ports declares what the core needs from outside: one file per noun, with the promises in
// the comments. Use cases depend on these interfaces only. An adapter keeps the promises with one
// technology.
//
// Decisions that bind this package:
//
//   - No type parameters, since golang/mock cannot mock them.
//   - Every method that touches a tenant's data takes the tenant. A version with the tenant inside
//     the context was rejected: forgetting it compiled.
//   - Storage errors are *domain.Error or one of the sentinel errors here. Anything else means
//     that the adapter failed.
package ports

//go:generate ../.tools/mocks.sh
