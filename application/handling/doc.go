// Package handling is what the people of a business see and do of its deliveries by
// hand, in all its applications and both environments.
//
// Programs name their tenant by a key; people name a delivery, and whose it is has to
// be found first. What another business has is domain.ErrNotFound, as is what nobody
// has. Changes go through deliveries.Change, as those of the API do, and into the audit
// log with who made them.
package handling
