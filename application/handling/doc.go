// Package handling is what the people of a business see and do of its deliveries by
// hand, in all its applications and both environments.
//
// Programs name their tenant by a key; people name a delivery, and whose it is has to
// be found first. A delivery of another business is domain.ErrNotFound, as one that
// does not exist. Changes go through deliveries.Change, as those of the API do, and
// into the audit log with the person's name.
package handling
