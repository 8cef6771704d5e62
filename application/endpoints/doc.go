// Package endpoints is what the people of a business see and do of its webhook endpoints,
// in all its applications and both environments.
//
// Programs name their tenant by a key; people name an endpoint, and whose it is has to be
// found first. What another business has is domain.ErrNotFound, as is what does not exist.
// Changes are those of package webhooks, within a transaction that keeps the person in the
// audit log. No endpoint is made twice by a form that is sent twice, no secret is rotated
// twice, and nothing is recovered that the person was not shown the number of.
package endpoints
